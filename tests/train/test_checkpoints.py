"""A checkpoint is old or new, never half."""

import resource
from pathlib import Path

import pytest
import torch

from ablate.train import checkpoints


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    checkpoints.save(tmp_path, {"model": {"w": torch.arange(3.0)}, "progress": {"step": 7}})
    state = checkpoints.load(tmp_path)
    assert state is not None
    assert state["progress"] == {"step": 7}
    assert torch.equal(state["model"]["w"], torch.arange(3.0))


def test_no_checkpoint_and_a_damaged_one_are_none(tmp_path: Path) -> None:
    assert checkpoints.load(tmp_path) is None
    checkpoints.save(tmp_path, {"w": torch.zeros(1000)})
    path = tmp_path / checkpoints.NAME
    for content in (path.read_bytes()[:200], b"", b"not a checkpoint"):
        path.write_bytes(content)
        assert checkpoints.load(tmp_path) is None


def test_a_save_that_fails_keeps_the_old_one_and_leaves_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints.save(tmp_path, {"step": 1})

    def full(state: object, file: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(OSError, match="No space"):
        checkpoints.save(tmp_path, {"step": 2})
    assert checkpoints.load(tmp_path) == {"step": 1}
    assert [p.name for p in tmp_path.iterdir()] == [checkpoints.NAME]


def test_a_checkpoint_holds_no_code(tmp_path: Path) -> None:
    checkpoints.save(tmp_path, {"f": Path("x")})
    assert checkpoints.load(tmp_path) is None


def test_a_full_disk_is_called_so_and_the_old_checkpoint_stays(tmp_path: Path) -> None:
    checkpoints.save(tmp_path, {"step": 1})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            checkpoints.save(tmp_path, {"step": 2, "model": torch.zeros(10_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert checkpoints.load(tmp_path) == {"step": 1}
    assert [path.name for path in tmp_path.iterdir()] == [checkpoints.NAME]
