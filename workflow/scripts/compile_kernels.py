"""Compile a module's kernels once, so that the jobs that follow find them in the cache."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from importlib import import_module

    import_module("lookalike." + snakemake.wildcards.module.replace("/", ".")).warm_up()
