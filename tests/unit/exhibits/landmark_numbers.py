"""Made-up numbers of a landmark study in the shapes that the workflow writes: 7 landmarks, 5 draws, 3 codebooks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from lookalike.exhibits.landmark_catalogue import LandmarkNumbers
from lookalike.exhibits.landmark_context import LANDMARKS, landmark_context
from lookalike.exhibits.landmark_montage import MontageMaterial

CLAIMS = Path(__file__).resolve().parents[3] / "workflow" / "resources" / "landmark-claims.csv"
WORDS = {"sift-10k": 10_000, "sift-100k": 100_000, "sift-1m": 1_000_000}
METHODS = {
    "tfidf": "TF-IDF",
    "qpao": "QPAO",
    "oasis-diagonal": "OASIS",
    "soml-tg": "S-TG",
    "soml-da": "S-DA",
}
VARIANTS = {
    "soml-tg-literal": "S-TG, sign as printed",
    "soml-da-literal": "S-DA, sign as printed",
    "soml-da-every-step": "S-DA, averaging as printed",
}
GAIN = {"tfidf": 0.0, "qpao": 0.14, "oasis-diagonal": 0.08, "soml-tg": 0.12, "soml-da": 0.13}
GAIN |= {"soml-tg-literal": -0.25, "soml-da-literal": -0.2, "soml-da-every-step": 0.05}
SPARSITY = {"qpao": 0.3, "oasis-diagonal": 0.0, "soml-tg": 0.4, "soml-da": 0.75}
SPARSITY |= {"soml-tg-literal": 0.02, "soml-da-literal": 0.01, "soml-da-every-step": 0.5}
SECONDS = {"tfidf": 0.0, "qpao": 60.0, "oasis-diagonal": 0.8, "soml-tg": 0.06, "soml-da": 0.05}
SECONDS |= {"soml-tg-literal": 0.1, "soml-da-literal": 0.4, "soml-da-every-step": 0.06}
DRAWS = 5


def study(**changes):
    """The paper's settings on Oxford5K."""
    return {
        "dataset": "oxford5k",
        "title": "Oxford5K",
        "kind": "oxford5k",
        "not_run": "",
        "representations": {name: {"words": words} for name, words in WORDS.items()},
        "landmarks": list(LANDMARKS),
        "methods": METHODS,
        "variants": VARIANTS,
        "draws": DRAWS,
        "positives": 7,
        "negatives": 500,
        "regularization": {"soml-tg": 1e-5, "soml-da": 1e-6},
        **changes,
    }


def oxford(fits=None, **changes):
    return landmark_context(study(**changes), fits)


def demo(fits=None, **changes):
    """Two small codebooks and three landmarks made by code."""
    return landmark_context(
        study(
            dataset="demo_landmarks",
            title="demo landmarks",
            kind="synthetic_landmarks",
            representations={"sift-10k": {"words": 1000}, "sift-100k": {"words": 10_000, "title": "10,000"}},
            landmarks=list(LANDMARKS[:3]),
            negatives=100,
            **changes,
        ),
        fits,
    )


def missing():
    return oxford(not_run="put oxbuild_images-v1.tgz at data/oxford5k")


def made_metrics(dataset="oxford5k", landmarks=LANDMARKS, codebooks=WORDS, draws=DRAWS):
    """Learning helps by `GAIN`, draws differ by a point, landmarks by up to sixty."""
    random = np.random.default_rng(0)
    rows = []
    for place, codebook in enumerate(codebooks):
        for number, landmark in enumerate(landmarks):
            level = 0.15 + 0.06 * number + 0.08 * place
            for method, gain in GAIN.items():
                own = gain * random.uniform(0.5, 1.4)
                for draw in range(draws):
                    key = (dataset, codebook, landmark, method, draw)
                    value = np.clip(level + own + random.normal(0, 0.012), 0.02, 0.99)
                    rows += [(*key, "map", value), (*key, "map_full", value - 0.04)]
                    if method in SPARSITY:
                        zero = 1 - (1 - SPARSITY[method]) * (0.3**place if "soml" in method else 1.0)
                        zero += random.normal(0, 0.01) if method != "oasis-diagonal" else 0.0
                        rows.append((*key, "sparsity", min(zero, 0.9999)))
    columns = ["dataset", "representation", "subset", "method", "fold", "metric", "value"]
    return pd.DataFrame(rows, columns=columns)


def made_fits(dataset="oxford5k", landmarks=LANDMARKS, codebooks=WORDS, draws=DRAWS):
    random = np.random.default_rng(1)
    rows = []
    for place, codebook in enumerate(codebooks):
        for landmark in landmarks:
            for method, seconds in SECONDS.items():
                for draw in range(draws):
                    growth = 4.0**place if method in ("qpao", "oasis-diagonal") else 1.0
                    share = {"tfidf": np.nan, "qpao": np.nan, "soml-tg-literal": 1.0}.get(method, 0.02)
                    time = seconds * growth * random.uniform(0.9, 1.2)
                    rows.append((dataset, codebook, landmark, method, draw, time, "", share * 21_000, "a processor"))
    columns = ["dataset", "representation", "subset", "method", "fold", "cpu_seconds_fit", "not_converged"]
    table = pd.DataFrame(rows, columns=[*columns, "n_updates", "processor"])
    return table.assign(n_steps=21_000.0, nonzeros_per_image_train=2000.0)


def made_sweep(dataset="oxford5k", landmarks=LANDMARKS, codebooks=WORDS, draws=DRAWS):
    """The larger lambda, the sparser; mAP rises a little and falls in the end."""
    lambdas = (0.0, 1e-7, 1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
    rows = []
    for place, codebook in enumerate(codebooks):
        for number, landmark in enumerate(landmarks):
            for draw in range(draws):
                for method, base in (("soml-tg", 0.25), ("soml-da", 0.6)):
                    for step, value in enumerate(lambdas):
                        zero = 1 - (1 - base) * 0.3**place * 0.6**step
                        gain = GAIN[method] + 0.01 * step - 0.004 * step**2
                        level = 0.15 + 0.06 * number + 0.08 * place
                        rows.append((dataset, codebook, landmark, draw, method, value, level + gain, zero))
    columns = ["dataset", "representation", "landmark", "draw", "method", "regularization", "map", "sparsity"]
    return pd.DataFrame(rows, columns=columns)


def made_dimensions():
    """Three repeats, of which the clock counts three times the processor's; QPAO did not end at a million features."""
    rows = []
    for learner, seconds, power in (
        ("qpao", 40.0, 0.7),
        ("oasis-diagonal", 0.6, 0.35),
        ("soml-tg", 0.13, 0.02),
        ("soml-da", 0.11, 0.03),
    ):
        for d in (10_000, 100_000, 1_000_000):
            for repeat in range(3):
                time = seconds * (d / 10_000) ** power * (1, 1.02, 1.05)[repeat]
                reason = ""
                if learner == "qpao" and d == 1_000_000:
                    time, reason = np.nan, "the fit took more than 600 s of CPU time"
                pair = 0.1 * (1, 1.02, 1.05)[repeat] if learner.startswith("soml") else np.nan
                steps = {"qpao": 21_000 * (not reason), "oasis-diagonal": 100_000}.get(learner, 21_000)
                times = (3 * time, time, pair)
                rows.append((learner, d, steps, 2000.0, repeat, *times, reason, "simulated", "a processor"))
    columns = ["learner", "n_features", "n_triplets", "nonzeros", "repeat", "seconds", "cpu_seconds"]
    return pd.DataFrame(rows, columns=[*columns, "pair_cpu_seconds", "reason", "data", "processor"])


def made_montage(folder):
    """Twelve small photographs of noise; learning brings the good ones to the front of one query, and loses another."""
    random = np.random.default_rng(3)
    paths = []
    for image in range(14):
        height, width = ((240, 320), (320, 240), (200, 320))[image % 3]
        colour = random.integers(40, 220, 3)
        pixels = np.clip(colour + random.integers(-40, 40, (height, width, 3)), 0, 255).astype(np.uint8)
        paths.append(f"image_{image:02d}.png")
        Image.fromarray(pixels).save(folder / paths[-1])
    manifest = pd.DataFrame({"image_id": np.arange(14, dtype=np.int32), "path": paths})
    queries = pd.DataFrame(
        {
            "query": ["all_souls_1", "all_souls_2", "bodleian_1"],
            "landmark": ["all_souls", "all_souls", "bodleian"],
            "image_id": np.array([0, 1, 2], dtype=np.int32),
            "x_min": 20.0,
            "y_min": 30.0,
            "x_max": 180.0,
            "y_max": 190.0,
        }
    )
    kinds = {3: "good", 4: "ok", 5: "junk", 6: "good"}
    relevance = pd.DataFrame(
        [(query, image, kind) for query in queries["query"] for image, kind in kinds.items()],
        columns=["query", "image_id", "relevance"],
    )
    positives_first, positives_last = [3, 4, 6, 5, 7, 8, 9, 10, 11, 12, 13], [7, 8, 5, 9, 10, 3, 11, 12, 4, 13, 6]
    tables = []
    for method, first in (("tfidf", "all_souls_2"), ("soml-da", "all_souls_1")):
        for query, landmark, own in zip(queries["query"], queries["landmark"], queries["image_id"], strict=True):
            for draw in range(2):
                order = [own, *(positives_first if query == first else positives_last)]
                precision = (0.9 if query == first else 0.3) + 0.02 * draw * (method == "soml-da")
                tables.append(
                    pd.DataFrame(
                        {
                            "method": method,
                            "landmark": landmark,
                            "draw": draw,
                            "query": query,
                            "average_precision": precision,
                            "rank": np.arange(1, len(order) + 1),
                            "image_id": order,
                        }
                    )
                )
    return MontageMaterial("sift-1m", folder, manifest, queries, relevance, pd.concat(tables, ignore_index=True))


def made_numbers(claims, montage=None, **shape):
    return LandmarkNumbers(
        metrics=made_metrics(**shape),
        fits=made_fits(**shape),
        lambda_sweep=made_sweep(**shape),
        dimensions=made_dimensions(),
        claims=claims,
        montage=montage,
    )
