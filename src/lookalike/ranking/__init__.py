"""Rankings, average precision, precision at k, metrics of triplets, search, and statistics over folds."""
