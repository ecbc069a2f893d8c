"""Make the contrasts of one study of a data set: what its numbers say of methods, and of one beside another."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_table
    from lookalike.exhibits.contrasts import contrasts_frame
    from lookalike.studies.rooms import contrasts_of, study_of

    given = snakemake.params
    study = study_of(given.room, given.dataset, given.settings)
    study.finished(dict(snakemake.input.items()), given.printed, not_run=given.not_run)
    write_table(contrasts_frame(contrasts_of(given.room, study)), snakemake.output.contrasts)
