include: "workflow/Snakefile"


# `default_target: True` in an included file is ignored without a word, so the root names the default
workflow.default_target = "all"
