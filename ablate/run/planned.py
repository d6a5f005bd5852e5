"""A run that was composed and checked, and what the disk says of it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from ablate.config.compose import Composition
from ablate.config.identity import Identity
from ablate.errors import UserError
from ablate.record import disk, run_files
from ablate.record.replaced import replace_file

FINISHED = ("done", "diverged")
Stamp = tuple[int, int] | None


@dataclass(frozen=True)
class PlannedRun:
    """A checked run that has not started yet.

    `hydra_files` are what .hydra/ is to hold, by name; None where Hydra itself writes them.
    `stamp` is that of the record when the run was planned.
    """

    config: dict[str, Any]
    identity: Identity
    directory: Path
    hydra_files: Mapping[str, Any] | None = None
    stamp: Stamp = None

    @classmethod
    def of(cls, composition: Composition) -> "PlannedRun":
        """A composed run in its folder, OUTPUTS/STUDY/NAME."""
        config, identity = composition.config, composition.identity
        outputs = Path(config["outputs"])
        directory = outputs / config["study"] / identity.name
        refuse_foreign(directory, outputs, config)
        return cls(config, identity, directory, composition.files, stamp(directory))

    @property
    def overrides(self) -> list[str]:
        """What the run was composed of, as it is typed."""
        return list(self.hydra_files["overrides"]) if self.hydra_files else []

    def anywhere(self) -> "PlannedRun":
        """The same run, with a path that holds whatever folder a process goes to."""
        whole = os.path.abspath(self.directory)  # noqa: PTH100  a link stays one
        return replace(self, directory=Path(whole))

    def write_hydra_files(self) -> None:
        """Write .hydra/ into the run's folder as Hydra does, unless Hydra itself has.

        Raises OSError.
        """
        if not self.hydra_files:
            return
        hydra = self.hydra_files["hydra"]["hydra"]
        runtime = {**hydra["runtime"], "output_dir": str(self.directory)}
        folder = self.directory / ".hydra"
        folder.mkdir(exist_ok=True)
        files = {**self.hydra_files, "hydra": {"hydra": {**hydra, "runtime": runtime}}}
        for name, content in files.items():
            text = OmegaConf.to_yaml(OmegaConf.create(content))
            replace_file(folder / f"{name}.yaml", text)

    def status(self) -> str | None:
        """The status on disk, None without a readable record."""
        return status_on_disk(self.directory)

    def wanted(self) -> bool:
        """Whether there is still something to do."""
        return is_wanted(self.status(), self.config)


def refuse_foreign(directory: Path, outputs: Path, config: Mapping[str, Any]) -> None:
    """Raise UserError for a run's folder that is not ours to write to, before anything is done.

    That is one behind a link out of the outputs, one with a link or a FIFO in place of a file of
    ours, and one whose record another version of ablate made, which rerun=true replaces.
    """
    if led := run_files.outside(directory, outputs):
        raise UserError(f"{directory}: {led}, or give outputs=")
    if strange := run_files.strangers(directory):
        raise UserError(f"{directory}: {strange[0]}; nothing is written there: remove it first")
    record, _ = disk.read(directory)
    if record and not config["rerun"] and (other := disk.other_schema(record)):
        raise UserError(
            f"{directory}: {other}: go on with that version of ablate, or rerun=true begins anew"
        )


def status_on_disk(directory: Path) -> str | None:
    """The status in a run's record, None without a readable one."""
    record, _ = disk.read(directory)
    return str(record.status) if record else None


def is_wanted(status: str | None, config: Mapping[str, Any]) -> bool:
    """Whether there is still something to do for a run of that status."""
    if config["rerun"]:
        return True
    return status not in FINISHED and (status != "failed" or config["retry"])


def stamp(directory: Path) -> Stamp:
    """What changes whenever the record in a directory is written anew; None without one."""
    try:
        file = (directory / disk.FILE).stat()
    except OSError:
        return None
    return file.st_ino, file.st_mtime_ns


def ended_since(directory: Path, before: Stamp) -> bool:
    """Whether a process has brought the run to an end since its record had that stamp."""
    return stamp(directory) != before and status_on_disk(directory) in (*FINISHED, "failed")
