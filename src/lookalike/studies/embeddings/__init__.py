"""The papers' protocol on embeddings of today, on classes that were learned from and on classes that were not."""
