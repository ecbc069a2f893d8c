"""Compile every kernel once, so that the jobs that follow find it in the cache."""

from lookalike.workflow_log import logged

with logged(snakemake.log):
    from lookalike import learners
    from lookalike.features import descriptors

    descriptors.warm_up()
    learners.warm_up()
