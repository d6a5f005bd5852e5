"""The verb `evaluate`: measure a trained run again, at other lengths or with another scheme."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ablate.build import text_files
from ablate.errors import UserError
from ablate.evaluate.finished import Finished, find_run, open_run
from ablate.evaluate.trained import measure_trained
from ablate.evaluate.wording import lines
from ablate.record import disk
from ablate.record.evaluated import EvaluatedText, Evaluation
from ablate.record.lock import Busy, hold, is_held
from ablate.record.writing import content_of
from ablate.shell.parser import Parser
from ablate.shell.stderr import say
from ablate.shell.terminal import show, show_json

DESCRIPTION = """\
Measure a trained run again from its checkpoint, with overrides that its weights can bear.

  ablate evaluate RUN evaluate.lengths=[1,16] evaluate.windows=512
  ablate evaluate RUN pos=yarn pos.factor=8        a run of pos=rope, scaled only now
  ablate evaluate RUN corpus=docs                  the same model on another text
  ablate evaluate RUN evaluate.position_probe=true where is position known?
  ablate evaluate RUN evaluate.shuffle=true        does the order of the input matter?

What is found is added to the record under `evaluations`; nothing that is there changes. The page
of `ablate report` and its --json show it."""

TRAINING = (
    *("seq_len", "steps", "lr", "clip", "dropout", "seed", "accumulate", "precision", "compile"),
    *("init", "warmup", "decay", "optim", "rerun", "study"),
)
"""Keys and groups that cannot be changed once a run is trained."""


def main(arguments: Sequence[str]) -> int:
    """Measure, print and add to the record; the exit code."""
    options = parser().parse(arguments)
    folders = [Path(folder) for folder in options.config_dir]
    refuse_training(options.overrides)
    directory = find_run(options.run, Path(options.outputs))
    if is_held(directory):
        raise UserError(f"{directory.name}: still running")
    run = open_run(str(directory), Path(options.outputs), options.overrides, folders)
    for word in run.left:
        say(f"ablate: {word} of the run is left out: what is in its place has none")
    entry = measure(run, options.overrides)
    add(run.directory, entry)
    if options.json:
        show_json(content_of(entry))
    else:
        show(lines(entry, run.record))
    return 0


def parser() -> Parser:
    """The flags of `ablate evaluate`."""
    flags = Parser("ablate evaluate", DESCRIPTION)
    flags.add_argument("run", help="a run's folder, how its name begins, or its hash")
    flags.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    flags.add_argument("--outputs", default="outputs", help="where runs are (default: outputs)")
    flags.add_argument("--config-dir", action="append", default=[], help="your own choices")
    flags.add_argument("--json", action="store_true", help="print the entry as JSON")
    return flags


def measure(run: Finished, overrides: Sequence[str]) -> Evaluation:
    """The entry for the record: everything that the run's config asks to measure."""
    source = run.bench.task.source
    entry = measure_trained(run.bench, run.config, lambda doing: say(doing) if doing else None)
    entry.overrides, entry.steps_done = list(overrides), run.steps
    entry.corpus = EvaluatedText(source.name, source.sha256, text_files(run.config))
    entry.finished = datetime.now(UTC).isoformat(timespec="seconds")
    return entry


def refuse_training(overrides: Sequence[str]) -> None:
    """Raise UserError for an override that needs a new training."""
    for word in overrides:
        key = word.partition("=")[0]
        if key.partition(".")[0] in TRAINING:
            hint = "; lengths are evaluate.lengths=[...], in train lengths" * (key == "seq_len")
            raise UserError(f"{word}: the run is trained, and this cannot be changed now{hint}")


def add(directory: Path, entry: Evaluation) -> None:
    """Append an entry to the record's `evaluations`; raises UserError where a run has begun."""
    try:
        with hold(directory):
            stored = disk.read_own(directory)
            if not isinstance((stored.source or {}).get("evaluations", []), list | None):
                raise UserError(f"{directory / disk.FILE}: `evaluations` is no list to add to")
            stored.evaluations = [*stored.evaluations, entry]
            disk.write(directory, stored)
    except Busy as error:
        raise UserError(f"{directory.name}: {error}; measure it again then") from error
