"""The commands of ``lookalike``, one module each: its parser, and what it does with a user's options."""
