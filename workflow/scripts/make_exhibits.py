"""Make the contrasts of one study of a data set, and draw all its exhibits, each beside the printed numbers."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import write_table, write_text
    from lookalike.exhibits.claims import claim_records
    from lookalike.exhibits.registry import exhibits_of
    from lookalike.exhibits.statuses import State
    from lookalike.exhibits.writing import headline, write_exhibits
    from lookalike.studies.rooms import contrasts_of, study_of

    given, known = snakemake.params, exhibits_of(snakemake.params.room)
    study = study_of(given.room, given.dataset, given.settings)
    study.finished(dict(snakemake.input.items()), given.printed, given.claims, given.not_run)
    if snakemake.output.get("contrasts"):
        study.contrasted_by([] if given.not_run else contrasts_of(given.room, study))
        write_table(study.table("contrasts"), snakemake.output.contrasts)
    written = write_exhibits([known[id] for id in given.exhibits], study, Path(snakemake.output[0]).parents[1])
    if snakemake.output.get("tested"):
        write_table(claim_records(study), snakemake.output.tested)
    if snakemake.output.get("headline"):
        write_text(headline(study, written), snakemake.output.headline)
    failed = [exhibit.id for exhibit in written if exhibit.state == State.FAILED]
    if failed:
        print(f"failed: {', '.join(failed)}; the report says why")
