"""Where images come from, and the manifest on which everything behind works: a row with a status for every file."""
