"""Compile every kernel once, so that the jobs that follow find it in the cache."""

from lookalike.workflow_log import logged

with logged(snakemake.log):
    from lookalike.evaluation import ranking
    from lookalike.features import descriptors
    from lookalike import learners

    for module in (descriptors, learners, ranking):
        module.warm_up()
