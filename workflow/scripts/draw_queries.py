"""Draw the queries of landmarks that are folders of photographs; the other images of a folder answer them."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table, write_table
    from lookalike.data.ground_truth import draw_ground_truth

    queries, relevance = draw_ground_truth(read_table(snakemake.input.manifest), **snakemake.params.settings)
    print(f"{len(queries)} queries of {queries['landmark'].nunique()} landmarks")
    write_table(queries, snakemake.output.queries)
    write_table(relevance, snakemake.output.relevance)
