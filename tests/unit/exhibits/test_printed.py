"""How numbers are written, ours and those of print."""

import math

from lookalike.exhibits import printed


def test_numbers_of_all_sizes_have_two_digits():
    texts = {(1835.2, 209.6): "1,835 ± 210", (math.nan, 1.0): "-", (0.0, math.nan): "0.0"}
    texts |= {(0.00213, 0.00031): "0.0021 ± 0.0003", (0.12, 0.0004): "0.12 ± 0.0004"}
    assert {numbers: printed.significant(*numbers) for numbers in texts} == texts
    # times stand in the papers' unit, however short ours are
    assert printed.minutes_text(0.00027, 0.00013) == "0.00027 ± 0.00013 min"


def test_durations_are_written_as_people_say_them():
    seconds = [0.0041, 0.001, 0.25, 37.02, 59.96, 5400, 86_400, 240_000, 366 * 86_400, 1e9, math.nan]
    said = ["4.1 ms", "1 ms", "0.25 s", "37 s", "1 min", "1.5 h", "1 day", "2.8 days", "1 year", "32 years", ""]
    assert list(map(printed.human_time, seconds)) == said
