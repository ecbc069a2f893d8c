"""From pixels to vectors: multi-scale blocks, local descriptors, codebooks and tf-idf visterms."""
