"""Learn methods, and readings of their algorithms, on simulated bags of words; times are in a table of their own."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_table
    from lookalike.core.settings.methods import Fit
    from lookalike.studies.landmark.bags import read_algorithms
    from lookalike.studies.landmark.settings import Readings

    params = snakemake.params.settings
    specs = {method: Fit(**spec) for method, spec in params["specs"].items()}
    readings = Readings(**params["readings"])
    numbers, times = read_algorithms(readings, specs, **params["cell"], seed=params["seed"])
    print(numbers.groupby(["representation", "metric", "method"], sort=False)["value"].mean().to_string())
    write_table(numbers, snakemake.output.numbers)
    write_table(times, snakemake.output.times)
