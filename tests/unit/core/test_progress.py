"""Progress: lines now and then, none of short work, and items that are passed on unchanged."""

from lookalike.core import progress
from lookalike.core.progress import counted, progress_lines


def test_long_work_has_a_line_now_and_then_and_one_at_the_end(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    report = progress_lines("files", seconds=30)
    for second in (1, 20, 31, 40, 62, 63):
        now[0] = second
        report(second * 100, 6300)
    assert capsys.readouterr().out.splitlines() == [
        "files: 3,100 of 6,300 after 31 s, 32 s left",
        "files: 6,200 of 6,300 after 62 s, 1 s left",
        "files: 6,300 of 6,300 after 63 s",
    ]


def test_short_work_is_silent(capsys):
    assert list(counted("abc", 3, progress_lines("letters"))) == ["a", "b", "c"]
    assert capsys.readouterr().out == ""
