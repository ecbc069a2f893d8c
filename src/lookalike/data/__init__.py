"""Where images come from: fetched, verified, unpacked, scanned to a manifest, and split; or made by code.

Everything behind this package works on the manifest, never on the folder: an image is a row with an ``image_id`` and a
status, and a file that cannot be used is a row with a reason.
"""
