"""Learn from one half of the classes of a folder of embeddings and rank both halves, halving by halving."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import write_table
    from lookalike.core.settings.methods import Fit
    from lookalike.exhibits.results import write_results
    from lookalike.studies.embeddings.protocol import read_embeddings, results_of

    params = snakemake.params.settings
    manifest, X = read_embeddings(Path(snakemake.params.folder))
    specs = {method: Fit(**spec) for method, spec in params["specs"].items()}
    rows = []
    for number in range(params["halvings"]):
        rows += results_of(manifest, X, params["sizes"], number, specs, params["seed"])
        print(f"halving {number + 1} of {params['halvings']}", flush=True)
    write_table(manifest, snakemake.output.manifest)
    write_results(rows, snakemake.output.results)
