"""Time the diagonal learners against the number of words, on simulated rows."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_table
    from lookalike.core.settings.methods import Fit
    from lookalike.studies.landmark.dimensions import time_learners
    from lookalike.studies.landmark.settings import Dimensions, LearningImages

    params = snakemake.params.settings
    specs = {words: {method: Fit(**spec) for method, spec in own.items()} for words, own in params["specs"].items()}
    dimensions, learning = Dimensions(**params["dimensions"]), LearningImages(**params["learning"])
    timed = time_learners(specs, dimensions, learning, seed=params["seed"])
    print(timed.to_string())
    write_table(timed, snakemake.output[0])
