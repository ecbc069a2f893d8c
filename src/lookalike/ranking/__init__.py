"""Rankings, average precision, precision at k, model selection and statistics over folds."""
