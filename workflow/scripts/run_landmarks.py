"""Learn and rank methods on landmarks, one after the other, for every draw of images."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from itertools import product
    from pathlib import Path

    from lookalike.core.settings.methods import Fit
    from lookalike.studies.batches import run_names
    from lookalike.studies.landmark import protocol
    from lookalike.studies.landmark.results import rows_of_run

    params = snakemake.params.settings
    data = protocol.read_data(snakemake.input, params)
    folders = {tuple(Path(file).parts[-4:-1]): Path(file).parent for file in snakemake.output}
    landmarks = list(dict.fromkeys(landmark for landmark, _, _ in folders))
    draws = sorted(set(data.learning_images["draw"]))
    specs = {method: Fit(**spec) for method, spec in params["specs"].items()}
    chosen = {
        (method, draw): protocol.chosen_constants(data, params["landmarks"], draw, spec)
        for (method, spec), draw in product(specs.items(), draws)
    }
    # methods change fastest, so that they share the triplets of a landmark and draw
    for landmark, draw, (method, spec) in product(landmarks, draws, specs.items()):
        run = protocol.run_landmark(data, landmark, draw, spec, method=method, chosen=chosen[method, draw])
        folder = folders[landmark, method, str(draw)]
        names = run_names(folder) | {"fold": draw}
        line = run.write(folder, rows_of_run(run.metrics, run.fit), names)
        print(f"{method}, {landmark}, draw {draw}: {line}", flush=True)
