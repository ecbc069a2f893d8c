"""Average the rankers, let test images query all others, count the collection, and put all numbers into rows."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_csr, read_json, read_table, write_table
    from lookalike.core.seeds import integer_seed
    from lookalike.data.query_log import QueryLog, measure_marginals
    from lookalike.exhibits.results import read_results, results_frame, write_results
    from lookalike.learners.model_io import save
    from lookalike.studies.web import protocol
    from lookalike.studies.web.results import counted, times_of_ranker
    from lookalike.studies.web.settings import HeldOutLog, LogLearning, LogTest
    from lookalike.studies.web.training_images import TrainingRows, split_training

    given, params, output = snakemake.input, snakemake.params.settings, snakemake.output
    log, images, fits = QueryLog.load(given.log), read_table(given.images), [*map(read_json, given.fits)]
    visterms = read_csr(given.visterms)
    model = protocol.as_model(protocol.averaged(given.matrices), fits, LogLearning(**params["learning"]))
    save(model, output.model, {"dataset": snakemake.wildcards.dataset, "rankers": len(fits)})
    systems, test = protocol.systems_of(given.matrices), LogTest(**params["test"])
    learned, _ = split_training(log, images, HeldOutLog(**params["held_out"]), params["seed"])
    rows = TrainingRows(visterms, learned)
    machine = {"n_threads": snakemake.threads, "report": lambda line: print(line, flush=True)}
    precision = protocol.score_retrieval(systems, rows, images, log, test, seed=params["seed"], **machine)
    marginals = measure_marginals(
        log, images["part"].to_numpy(), visterms, integer_seed(params["seed"], "web", "marginals")
    )
    write_results(precision, output.precision)
    write_table(marginals, output.marginals)
    write_results(pd.concat([read_results(output.precision), counted(marginals)], ignore_index=True), output.results)
    trained = zip(fits, map(read_table, given.curves), strict=True)
    own = [row for fit, curve in trained for row in times_of_ranker(fit, curve)]
    write_results(pd.concat([*map(read_results, given.runs), results_frame(own)], ignore_index=True), output.times)
