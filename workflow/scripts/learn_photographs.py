"""Learn the landmark study's methods on published visterms of photographs, with each class in a landmark's place."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_table
    from lookalike.core.settings.methods import Fit
    from lookalike.studies.landmark.photographs import learn_photographs
    from lookalike.studies.landmark.settings import Photographs

    params = snakemake.params.settings
    specs = {method: Fit(**spec) for method, spec in params["specs"].items()}
    settings = Photographs(**params["photographs"])
    numbers = learn_photographs(snakemake.params.folder, settings, specs, seed=params["seed"])
    print(numbers.groupby(["metric", "method"], sort=False)["value"].mean().to_string())
    write_table(numbers, snakemake.output[0])
