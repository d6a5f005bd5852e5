"""A trained run, rebuilt from its folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml

from ablate.build import Bench, build, build_corpus
from ablate.config.catalogue import Catalogue, nearest
from ablate.config.compose import Composer
from ablate.errors import UserError
from ablate.record import disk
from ablate.record.record import Record
from ablate.train import checkpoints


@dataclass(frozen=True)
class Finished:
    """A run's folder and record, its config with any overrides, and its trained objects.

    `left` are the run's own overrides of options that a newly chosen part does not have.
    """

    directory: Path
    record: Record
    config: dict[str, Any]
    bench: Bench
    steps: int
    left: tuple[str, ...] = ()


def find_run(word: str, outputs: Path) -> Path:
    """The folder of a run, from its path, the beginning of its name under `outputs`, or its hash.

    Raises UserError where there is none or more than one.
    """
    path = Path(word)
    if (path / disk.FILE).is_file():
        return path
    runs = sorted(path.parent for path in outputs.glob(f"*/*/{disk.FILE}"))
    matches = [run for run in runs if run.name.startswith(word) or run.name.endswith(f"-{word}")]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = ", ".join(str(run) for run in matches[:4])
        more = f" and {len(matches) - 4} more" if len(matches) > 4 else ""
        raise UserError(f"{word}: {len(matches)} runs are named so: {names}{more}; say which")
    hint = nearest(word, [run.name for run in runs])
    raise UserError(f"{word}: no folder with a {disk.FILE}, and no run in {outputs}/.{hint}")


def open_run(
    word: str, outputs: Path, overrides: Sequence[str], folders: Sequence[Path]
) -> Finished:
    """Rebuild a trained run from its folder, with `overrides` on top of its own config.

    Raises UserError where its record or checkpoint is missing or damaged, and where its weights do
    not fit what the overrides ask for.
    """
    directory = find_run(word, outputs)
    stored, problem = disk.read(directory)
    if stored is None:
        raise UserError(f"{directory / disk.FILE}: {problem}")
    state = checkpoints.load(directory)
    if state is None:
        raise UserError(f"{directory / checkpoints.NAME}: missing or damaged; run it again first")
    composer = Composer(folders)
    own = own_overrides(directory)
    left = left_out(own, overrides, composer.catalogue)
    with composer.session():
        # Where a key stands in both, the new override wins.
        merged = [*(word for word in own if word not in left), *overrides]
        words = {word.partition("=")[0]: word for word in merged}
        jobs = composer.jobs([*words.values()], sweep=True)
        if len(jobs) > 1:
            raise UserError(f"{' '.join(overrides)}: several values; one at a time")
        config, _ = composer.one(jobs[0])
    if config["threads"]:
        torch.set_num_threads(config["threads"])
    bench = build(config, build_corpus(config))
    try:
        bench.model.load_state_dict(state["model"])
    except RuntimeError as error:
        target = " ".join(overrides) or "its config"
        raise UserError(f"{directory.name}: its weights do not fit {target}") from error
    return Finished(directory, stored, config, bench, state["progress"]["step"], left)


def left_out(own: Sequence[str], new: Sequence[str], catalogue: Catalogue) -> tuple[str, ...]:
    """Of a run's own overrides, those of options that a choice in `new` does not have."""
    left = []
    for word in new:
        group, _, name = word.partition("=")
        choice = catalogue.choice(group, name)
        for override in own if choice else ():
            option = override.partition("=")[0].removeprefix(f"{group}@").removeprefix(f"{group}.")
            of_group = override.startswith((f"{group}.", f"{group}@"))
            if of_group and choice and option.partition(".")[0] not in choice.options:
                left.append(override)
    return tuple(left)


def own_overrides(directory: Path) -> list[str]:
    """The overrides with which a run was started, from Hydra's file of them; without rerun=."""
    path = directory / ".hydra" / "overrides.yaml"
    try:
        words = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise UserError(f"{path}: missing or damaged, so the run cannot be rebuilt") from error
    return [str(word) for word in words or [] if not str(word).startswith("rerun=")]
