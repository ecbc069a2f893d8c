"""Draw one picture that explains the representation, from a data set's own images."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    import numpy as np

    from lookalike.core.files import read_json, read_table
    from lookalike.exhibits.representation import Material, write_picture

    data = snakemake.params.data
    material = Material(
        dataset=snakemake.wildcards.dataset,
        title=data.get("title", snakemake.wildcards.dataset),
        synthetic=data["kind"] == "synthetic",
        root=Path(read_json(snakemake.input.images)["root"]),
        manifest=read_table(snakemake.input.manifest),
        pool=read_table(snakemake.input.pool),
        palette=np.load(snakemake.input.palette),
        codebook=np.load(snakemake.input.codebook),
        block_files=list(snakemake.input.blocks),
        hellinger=snakemake.params.hellinger,
        sources=[
            *(str(snakemake.input[name]) for name in ("images", "manifest", "pool", "palette", "codebook")),
            *map(str, snakemake.input.blocks),
        ],
    )
    paper, picture = snakemake.wildcards.picture.split("/")
    write_picture(picture, material, Path(snakemake.output[0]).parent, paper)
