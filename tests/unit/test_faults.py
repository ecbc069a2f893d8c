"""The list of planted faults: every entry can be planted, and there are enough of them in each room."""

from collections import Counter

import pytest
from plant_faults import ROOT, read_faults

FAULTS = read_faults()
ROOMS = ("app", "report", "studies", "exhibits", "deep", "learners", "ranking", "data", "features", "core")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_fault_can_be_planted(fault):
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    planted = fault.planted(text)
    assert planted != text
    compile(planted, fault.file, "exec")
    assert fault.file.startswith(f"src/lookalike/{fault.room}/")


def test_sixty_faults_are_spread_over_all_rooms_and_each_is_caught():
    assert len({fault.id for fault in FAULTS}) == len(FAULTS) >= 60
    counts = Counter(fault.room for fault in FAULTS)
    assert counts.keys() == set(ROOMS)
    assert min(counts.values()) >= 6
    assert sum(fault.n_caught == 1 for fault in FAULTS) >= 20
    for fault in FAULTS:
        assert fault.n_caught >= 1
        assert len(fault.caught) == min(fault.n_caught, 10)
