"""lookalike: learning image similarity from relative comparisons."""

__version__ = "0.1.0.dev0"
