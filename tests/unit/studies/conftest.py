"""What tests of several studies share: the project's settings, and a small study of four classes in two folds."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from project import own_settings

from lookalike.studies.settings import checked

N_WORDS = 40


@pytest.fixture
def settings():
    """The project's settings."""
    return checked(own_settings())


@pytest.fixture(scope="session")
def study():
    """Counts of 4 classes x 20 images, in which words tell classes apart a little, and two folds of 10 + 5 images."""
    rng = np.random.default_rng(0)
    labels = np.repeat([f"{c:03d}.class" for c in range(4)], 20)
    topics = rng.dirichlet(np.full(N_WORDS, 0.5), size=4)
    common = np.full(N_WORDS, 1 / N_WORDS)
    counts = np.stack([rng.multinomial(40, 0.5 * topics[i // 20] + 0.5 * common) for i in range(80)])
    rows = []
    for fold in range(2):
        for c in range(4):
            images = 20 * c + rng.permutation(20)[:15]
            for position, image in enumerate(images):
                role = "train" if position < 10 else "test"
                rows.append((fold, image, labels[image], role, role == "train" and position < 2))
    split = pd.DataFrame(rows, columns=["fold", "image_id", "label", "role", "validation"])
    split = split.sample(frac=1, random_state=1).astype({"fold": np.int8, "image_id": np.int32})
    return sp.csr_array(counts.astype(np.int32)), split
