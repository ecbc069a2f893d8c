"""A similarity of one's own images, from a folder to a model file: what the commands ``fit`` to ``info`` do."""
