"""Average the rankers of a data set and save the learner, to be loaded with `lookalike.load`."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_json
    from lookalike.learners.model_io import save
    from lookalike.studies.web.protocol import as_model, averaged
    from lookalike.studies.web.settings import LogLearning

    fits = [read_json(file) for file in snakemake.input.fits]
    learning = LogLearning(**snakemake.params.settings["learning"])
    model = as_model(averaged(snakemake.input.matrices), fits, learning)
    save(model, snakemake.output[0], {"dataset": snakemake.wildcards.dataset, "rankers": len(fits)})
