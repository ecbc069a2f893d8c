"""Numbers to tables and figures in the papers' form, with ours beside the printed ones."""
