"""The Deep Ranking network, how it is trained and what it gives for images: the one part of the package with torch."""
