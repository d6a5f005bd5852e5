"""What the disk says of a run."""

from pathlib import Path

import pytest

from ablate.record import disk, lock
from ablate.run.planned import is_wanted, status_on_disk

SETTINGS = {"rerun": False, "retry": True}


@pytest.mark.parametrize(
    ("status", "changed", "wanted"),
    [
        (None, {}, True),
        ("running", {}, True),
        ("interrupted", {}, True),
        ("done", {}, False),
        ("diverged", {}, False),
        ("done", {"rerun": True}, True),
        ("failed", {}, True),
        ("failed", {"retry": False}, False),
        ("failed", {"retry": False, "rerun": True}, True),
    ],
)
def test_what_is_done_again(status: str | None, changed: dict, wanted: bool) -> None:
    assert is_wanted(status, {**SETTINGS, **changed}) is wanted


def test_a_damaged_record_has_no_status(tmp_path: Path) -> None:
    assert status_on_disk(tmp_path) is None
    (tmp_path / disk.FILE).write_text("{")
    assert status_on_disk(tmp_path) is None


def test_a_lock_is_held_by_one_and_seen_by_others(tmp_path: Path) -> None:
    assert not lock.is_held(tmp_path)
    with lock.hold(tmp_path):
        assert lock.is_held(tmp_path)
        with pytest.raises(lock.Busy, match="process"), lock.hold(tmp_path):
            pass
    assert not lock.is_held(tmp_path)
    with lock.hold(tmp_path):
        pass
