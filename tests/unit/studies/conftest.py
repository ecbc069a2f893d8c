"""This folder is on the path of all tests of studies: they import from it what they share."""
