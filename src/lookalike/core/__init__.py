"""What every room stands on: errors, seeds, files, images, the shape of the settings, code fingerprints."""
