"""How well neighbours are found on classes that are seen and that are new, beside what else one would take.

Five times the rows are split: half of each class is learned from and the other half asked (seen), and half of the
classes are learned from and the others asked (new). Sets are handwritten digits (scikit-learn), embeddings and counts
of visual words of twenty classes of photographs (`workflow/resources`), and files of vectors with labels or folders of
images that are named. Metrics of other packages are measured where these are installed. Nothing is chosen by rows that
are asked. The table of `docs/how-to/compare-learners.md` is from here.

    python benchmarks/neighbours.py --output neighbours.json --page docs/how-to/compare-learners.md [FILE.parquet ...]
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import normalize

from lookalike import Similarity
from lookalike.app.rows import make_rows
from lookalike.app.vectors import is_vectors, read_vectors
from lookalike.features.tfidf_rows import inverse_document_frequencies, tfidf_rows
from lookalike.learners import LDA, Euclidean, LogisticRegression
from lookalike.learners.online import held_out_rows
from lookalike.ranking.rankings import rank_scores

RESOURCES = Path(__file__).resolve().parents[1] / "workflow" / "resources"
SPLITS, MOST_FOR_NCA = 5, 3e8
MARKS = "<!-- from benchmarks/neighbours.py -->", "<!-- to here -->"
Learned = Callable[[np.ndarray, np.ndarray, int], Callable[[np.ndarray], np.ndarray]]


def sets(given: list[Path], names: list[str]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the name, rows and labels of each set."""
    if "digits" in names:
        X, y = load_digits(return_X_y=True)
        yield "digits", X.astype(np.float32), y.astype(str)
    if "embeddings" in names:
        labels = pd.read_csv(RESOURCES / "caltech20-embeddings" / "manifest.csv", dtype=str)["label"]
        with np.load(RESOURCES / "caltech20-embeddings" / "embeddings.npz") as kept:
            yield "embeddings", (kept["codes"] * kept["scale"]).astype(np.float32), labels.to_numpy(str)
    if "words" in names:
        manifest = pd.read_csv(RESOURCES / "caltech20" / "manifest.csv", dtype=str)
        counts = sp.load_npz(RESOURCES / "caltech20" / "counts.npz")[np.flatnonzero(manifest["status"] == "ok")]
        rows = tfidf_rows(counts, inverse_document_frequencies(counts))
        yield "words", rows.astype(np.float32), manifest.loc[manifest["status"] == "ok", "label"].to_numpy(str)
    for path in given:
        if is_vectors(path):
            rows = read_vectors(path).related()
            yield path.stem, rows.X, rows.labels
        else:
            X, table = Similarity("hog").vectors(path)
            yield path.name, X, table["label"].to_numpy(str)


def splits(y: np.ndarray) -> Iterator[tuple[str, int, np.ndarray, np.ndarray]]:
    """Yield which classes are asked, the number of the split, and which rows are learned from and asked."""
    for number in range(SPLITS):
        random = np.random.default_rng(number)
        asked = held_out_rows(y, 0.5, random)
        yield "seen", number, ~asked, asked
        classes = random.permutation(np.unique(y))
        known = np.isin(y, classes[: len(classes) // 2])
        yield "new", number, known, ~known


def ours(classes: str) -> Learned:
    """Return what fits a similarity for classes that are seen or new, and ranks as it does."""

    def fit(X: np.ndarray, y: np.ndarray, seed: int) -> Callable[[np.ndarray], np.ndarray]:
        model = Similarity(classes=classes, random_state=seed).fit(make_rows(X, labels=y))
        return lambda rows: model.learner_.similarity(*(2 * [model.learner_rows(make_rows(rows))]))

    return fit


def of_learner(make: Callable[[], object]) -> Learned:
    """Return what fits one of our learners to rows of unit length less their mean."""

    def fit(X: np.ndarray, y: np.ndarray, seed: int) -> Callable[[np.ndarray], np.ndarray]:
        mean = 0 if sp.issparse(X) else X.mean(axis=0)
        learner = make().fit(normalize(X - mean) if np.ndim(mean) else X, y)
        return lambda rows: learner.similarity(*(2 * [normalize(rows - mean) if np.ndim(mean) else rows]))

    return fit


def nca(X: np.ndarray, y: np.ndarray, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """Fit scikit-learn's neighbourhood components analysis."""
    model = NeighborhoodComponentsAnalysis(max_iter=50, random_state=seed).fit(normalize(X), y)
    return lambda rows: euclidean(model.transform(normalize(rows)))


def multi_similarity(X: np.ndarray, y: np.ndarray, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """Train a linear map to 128 numbers by pytorch-metric-learning's MultiSimilarityLoss."""
    import torch
    from pytorch_metric_learning.losses import MultiSimilarityLoss

    torch.manual_seed(seed)
    rows, labels = torch.tensor(normalize(X)), torch.tensor(pd.factorize(y)[0])
    layer, loss = torch.nn.Linear(X.shape[1], 128, bias=False), MultiSimilarityLoss()
    optimizer = torch.optim.Adam(layer.parameters(), 1e-3)
    for _ in range(300):
        part = torch.randint(len(rows), (128,))
        optimizer.zero_grad()
        loss(layer(rows[part]), labels[part]).backward()
        optimizer.step()
    matrix = layer.weight.detach().numpy().T
    return lambda asked: cosine(normalize(asked) @ matrix)


def metric_learn(X: np.ndarray, y: np.ndarray, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """Fit LMNN of metric-learn."""
    from metric_learn import LMNN

    model = LMNN(max_iter=50, random_state=seed).fit(normalize(X), y)
    return lambda rows: euclidean(model.transform(normalize(rows)))


def euclidean(rows: np.ndarray) -> np.ndarray:
    """Return minus the squared distances of all pairs."""
    return Euclidean().fit(rows).similarity(rows, rows)


def cosine(rows: np.ndarray) -> np.ndarray:
    """Return the cosines of all pairs."""
    unit = normalize(rows)
    products = unit @ unit.T
    return products.toarray() if sp.issparse(products) else products


def methods(X: np.ndarray) -> dict[str, Learned]:
    """Return what can be measured on these rows, by name."""
    found: dict[str, Learned] = {
        "Euclidean distance": lambda X, y, seed: euclidean,
        "cosine": lambda X, y, seed: cosine,
        "lookalike fit --for seen": ours("seen"),
        "lookalike fit --for new": ours("new"),
        "LDA, cosine": of_learner(LDA),
        "logistic regression, scores": of_learner(lambda: LogisticRegression(100.0, compare="scores")),
        "logistic regression, probabilities": of_learner(lambda: LogisticRegression(100.0)),
    }
    if not sp.issparse(X):
        if X.shape[0] ** 2 * X.shape[1] <= MOST_FOR_NCA:
            found["NCA"] = nca
        found |= {"pytorch-metric-learning, MultiSimilarity": multi_similarity, "metric-learn, LMNN": metric_learn}
    return found


def measured(name: str, X: np.ndarray, y: np.ndarray) -> list[dict[str, object]]:
    """Return a row for each method and future: the mean of mean average precision over splits, and seconds."""
    rows = []
    for method, learn in methods(X).items():
        values: dict[str, list[float]] = {"seen": [], "new": []}
        start = time.process_time()
        try:
            for asked, seed, known, others in splits(y):
                scores = learn(X[known], y[known], seed)(X[others])
                values[asked].append(rank_scores(scores, y[others]).mean_average_precision())
        except ModuleNotFoundError as error:
            print(f"{name}: {method} is not measured, as {error.name} is not installed", flush=True)
            continue
        seconds = (time.process_time() - start) / (2 * SPLITS)
        for asked, own in values.items():
            row = {"set": name, "method": method, "asked": asked, "map": float(np.mean(own)), "values": own}
            rows.append(row | {"seconds": seconds, "n_rows": len(y), "n_classes": len(np.unique(y))})
        print(f"{name:12} {method:42} seen {np.mean(values['seen']):.3f}  new {np.mean(values['new']):.3f}", flush=True)
    return rows


def table_of(rows: list[dict[str, object]]) -> str:
    """Return the page's table: a column for each set and future, a row for each method, the best in bold."""
    frame = pd.DataFrame(rows).assign(column=lambda own: own["set"] + ", " + own["asked"])
    table = frame.pivot(index="method", columns="column", values="map")
    table = table.loc[list(dict.fromkeys(frame["method"])), list(dict.fromkeys(frame["column"]))]
    best = table.max()
    lines = ["| mAP | " + " | ".join(table.columns) + " |", "|---" * (1 + len(table.columns)) + "|"]
    for method, values in table.iterrows():
        cells = ["" if np.isnan(v) else f"**{v:.3f}**" if v == best[c] else f"{v:.3f}" for c, v in values.items()]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("given", nargs="*", type=Path, help="files of vectors with labels, or folders of class folders")
    parser.add_argument("--sets", nargs="*", default=["digits", "embeddings", "words"], help="of those that come along")
    parser.add_argument("--output", type=Path, help="also write everything as JSON to this file")
    parser.add_argument("--page", type=Path, help="put the table between its marks on this page")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows = [row for found in sets(arguments.given, arguments.sets) for row in measured(*found)]
    table = table_of(rows)
    print(table)
    if arguments.output:
        arguments.output.write_text(json.dumps({"splits": SPLITS, "rows": rows}, indent=1) + "\n")
    if arguments.page:
        start, end = map(re.escape, MARKS)
        page = arguments.page.read_text(encoding="utf-8")
        text = f"{MARKS[0]}\n\n{table}\n\n{MARKS[1]}"
        arguments.page.write_text(re.sub(f"{start}.*{end}", lambda _: text, page, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main()
