"""Learning from a query log at web scale (JMLR 5.1 and 5.2)."""
