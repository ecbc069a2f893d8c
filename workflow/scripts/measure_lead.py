"""Measure S-TG, S-DA and OASIS with one codebook, with printed and with chosen constants."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.settings.methods import Fit
    from lookalike.exhibits.results import write_results
    from lookalike.studies.landmark.protocol import measure_lead, read_data

    params = snakemake.params.settings
    specs = {method: Fit(**spec) for method, spec in params["specs"].items()}
    asked = {name: params[name] for name in ("setting", "chosen_draws")}
    rows = measure_lead(read_data(snakemake.input, params), params["landmarks"], specs, **asked)
    print(f"{len(rows)} numbers")
    write_results(rows, snakemake.output[0])
