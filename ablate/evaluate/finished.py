"""A run that was trained, brought back from its folder."""

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

    `left` are overrides of the run's own that a choice in their place does not have.
    """

    directory: Path
    record: Record
    config: dict[str, Any]
    bench: Bench
    steps: int
    left: tuple[str, ...] = ()


def find_run(word: str, outputs: Path) -> Path:
    """The folder of a run: a path, or how a run's name under `outputs` begins, or its hash.

    Raises UserError where there is none or more than one.
    """
    given = Path(word)
    if (given / disk.FILE).is_file():
        return given
    runs = sorted(path.parent for path in outputs.glob(f"*/*/{disk.FILE}"))
    found = [run for run in runs if run.name.startswith(word) or run.name.endswith(f"-{word}")]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(str(run) for run in found[:4])
        more = f" and {len(found) - 4} more" if len(found) > 4 else ""
        raise UserError(f"{word}: {len(found)} runs are named so: {names}{more}; say which")
    hint = nearest(word, [run.name for run in runs])
    raise UserError(f"{word}: no folder with a {disk.FILE}, and no run in {outputs}/.{hint}")


def open_run(
    word: str, outputs: Path, overrides: Sequence[str], folders: Sequence[Path]
) -> Finished:
    """Bring a run back, with some overrides on its own config.

    Raises UserError where its record or checkpoint is missing or damaged, and where its weights do
    not fit what the overrides ask for.
    """
    directory = find_run(word, outputs)
    found, problem = disk.read(directory)
    if found is None:
        raise UserError(f"{directory / disk.FILE}: {problem}")
    state = checkpoints.load(directory)
    if state is None:
        raise UserError(f"{directory / checkpoints.NAME}: missing or damaged; run it again first")
    composer = Composer(folders)
    own = own_overrides(directory)
    left = left_out(own, overrides, composer.catalogue)
    with composer.session():
        # Of a key that stands in both, the later one is meant.
        both = [*(word for word in own if word not in left), *overrides]
        words = {word.partition("=")[0]: word for word in both}
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
        asked = " ".join(overrides) or "its config"
        raise UserError(f"{directory.name}: its weights do not fit {asked}") from error
    return Finished(directory, found, config, bench, state["progress"]["step"], left)


def left_out(own: Sequence[str], asked: Sequence[str], catalogue: Catalogue) -> tuple[str, ...]:
    """A run's own overrides of options that a choice asked for in their place does not have."""
    left = []
    for word in asked:
        group, _, name = word.partition("=")
        choice = catalogue.choice(group, name)
        for one in own if choice else ():
            option = one.partition("=")[0].removeprefix(f"{group}@").removeprefix(f"{group}.")
            mine = one.startswith((f"{group}.", f"{group}@"))
            if mine and choice and option.partition(".")[0] not in choice.options:
                left.append(one)
    return tuple(left)


def own_overrides(directory: Path) -> list[str]:
    """The overrides with which a run was started, as Hydra wrote them down."""
    path = directory / ".hydra" / "overrides.yaml"
    try:
        words = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise UserError(f"{path}: missing or damaged, so the run cannot be rebuilt") from error
    return [str(word) for word in words or [] if not str(word).startswith("rerun=")]
