"""A trained run, rebuilt from its folder."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ablate.build import Bench, build, build_corpus
from ablate.config.catalogue import Catalogue, nearest
from ablate.config.compose import Composer
from ablate.errors import UserError
from ablate.evaluate.believed import believed
from ablate.record import disk, run_files, stored
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
        root = outputs if path.absolute().is_relative_to(outputs.absolute()) else path
        if led := run_files.outside(path, root):
            raise UserError(f"{path}: {led}")
        return path
    every = sorted(path.parent for path in outputs.glob(f"*/*/{disk.FILE}"))
    runs = [run for run in every if not run_files.outside(run, outputs)]
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
    if strange := run_files.strangers(directory):
        raise UserError(f"{directory}: {strange[0]}; it is not read")
    record = disk.read_own(directory)
    state = checkpoints.load(directory)
    weights, progress = (state or {}).get("model"), (state or {}).get("progress")
    if not isinstance(weights, dict) or not isinstance(progress, dict):
        raise UserError(f"{directory / checkpoints.NAME}: missing or damaged; run it again first")
    composer = Composer(folders)
    try:
        own = believed(directory, record, overrides, composer)
    except UserError as error:
        raise UserError(f"{error}{own_folders(directory, composer)}") from error
    left = left_out(own, overrides, composer.catalogue)
    with composer.session():
        jobs = composer.jobs([*(w for w in own if w not in left), *overrides], sweep=True)
        if len(jobs) > 1:
            raise UserError(f"{' '.join(overrides)}: several values; one at a time")
        config, _ = composer.one(jobs[0])
    if config["threads"]:
        torch.set_num_threads(config["threads"])
    bench = build(config, build_corpus(config))
    step = progress.get("step")
    try:
        bench.model.load_state_dict(weights)
    except (RuntimeError, TypeError, AttributeError) as error:
        target = " ".join(overrides) or "its config"
        raise UserError(f"{directory.name}: its weights do not fit {target}") from error
    return Finished(directory, record, config, bench, step if isinstance(step, int) else 0, left)


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


def own_folders(directory: Path, composer: Composer) -> str:
    """' It was made with --config-dir ...' where a run says so of folders that are not given."""
    given = {str(folder) for folder in composer.folders}
    missing = [folder for folder in stored.config_folders(directory) if folder not in given]
    if not missing:
        return ""
    flags = " ".join(f"--config-dir {shlex.quote(folder)}" for folder in missing)
    return f" The run was made with {flags}, which is to be given again."
