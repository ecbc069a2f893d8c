include: "workflow/Snakefile"


# Snakemake ignores `default_target: True` in an included file, so the root names the default
workflow.default_target = "all"
