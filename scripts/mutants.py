"""Put small faults into the code, one at a time, and tell which of them its tests see.

    nice python scripts/mutants.py                        # every area: an hour on two cores
    nice python scripts/mutants.py --area data training   # some
    nice python scripts/mutants.py --only CosineDecay     # the faults that have this in their line
    python scripts/mutants.py --list                      # nothing is run

Each file of scripts/mutants/ is an area: the tests of its rooms and its faults, each a file, a text
that occurs in it once, and what stands there instead. A fault is put into a copy of the working
tree, and the area's fast tests run there until one fails. A fault that no test sees is a test that
is missing. A fault whose text is not there any more, or is there twice, ends the script: mend the
table.
"""

import argparse
import importlib.util
import os
import queue
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "outputs", ".hypothesis")
LONGEST = 300.0  # seconds; a fault that hangs a test is seen too
PRELOADED = ["torch", "numpy", "matplotlib"]
"""What every test process needs and no fault is in: imported once, before the processes fork."""

# Of an area; torch's threads do not outlive a fork, and one is all that the tests use.
os.environ["OMP_NUM_THREADS"] = "1"
processes = get_context("forkserver")


@dataclass(frozen=True)
class Fault:
    """`before` occurs once in `file` and becomes `after`."""

    area: str
    file: str
    before: str
    after: str

    def __str__(self) -> str:
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.area}: {self.file}: {before}  ->  {after}"


@dataclass(frozen=True)
class Area:
    """A part of the code: `tests` are paths as pytest takes them, the quickest to fail first."""

    name: str
    tests: list[str]
    faults: list[Fault]


def read_areas(table: Path) -> list[Area]:
    """The areas of a folder of .toml files, by name."""
    areas = []
    for path in sorted(table.glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        faults = [Fault(path.stem, *row) for row in content["faults"]]
        areas.append(Area(path.stem, content["tests"], faults))
    return areas


def stale(areas: list[Area], root: Path) -> list[str]:
    """Lines about faults whose text does not occur exactly once, and tests that are not there."""
    paths = {(area.name, test.partition("::")[0]) for area in areas for test in area.tests}
    lines = [f"{name}: no {path}" for name, path in sorted(paths) if not (root / path).exists()]
    for fault in (fault for area in areas for fault in area.faults):
        path = root / fault.file
        count = path.read_text(encoding="utf-8").count(fault.before) if path.is_file() else 0
        if count != 1 or fault.before == fault.after:
            lines.append(f"its text occurs {count} times: {fault}")
    return lines


def run_tests(folder: str, tests: list[str], log: str) -> None:
    """In a process of its own: run tests in a copy of the tree and exit with pytest's code."""
    import pytest

    os.setsid()
    with Path(log).open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    os.environ["PYTHONPATH"] = folder
    sys.path.insert(0, folder)
    package = importlib.util.find_spec("ablate")
    if (Path(folder) / "ablate").is_dir() and not str(package and package.origin).startswith(
        folder
    ):
        raise SystemExit("the tests would see another ablate than the copy")
    options = ["-x", "-q", "-n0", "-m", "not slow", "-p", "no:cacheprovider", "--tb=line"]
    raise SystemExit(int(pytest.main([*options, *tests])))


def tested(folder: Path, tests: list[str]) -> tuple[bool, str]:
    """Whether all tests pass in a copy of the tree, and what the first that does not says."""
    log = folder.with_suffix(".log")
    process = processes.Process(target=run_tests, args=(str(folder), tests, str(log)))
    process.start()
    process.join(LONGEST)
    if process.exitcode is None:
        end(process)
        return False, f"not done after {LONGEST:.0f} s"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    if process.exitcode not in (0, 1, 2):  # 2: an import fails
        raise SystemExit("\n".join([*lines[-20:], f"pytest ended with {process.exitcode}"]))
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return process.exitcode == 0, (failed or lines or [""])[-1][:150]


def end(process: BaseProcess) -> None:
    """End a test process with all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)
    process.join()


def seen(fault: Fault, tests: list[str], folder: Path) -> tuple[bool, str]:
    """Whether the tests see a fault, and which of them, in a copy of the tree."""
    path = folder / fault.file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(fault.before, fault.after), encoding="utf-8")
    try:
        passed, last = tested(folder, tests)
    finally:
        path.write_text(text, encoding="utf-8")
    return not passed, last


def try_area(area: Area, folders: "queue.Queue[Path]", jobs: int) -> list[Fault]:
    """Try the faults of an area, tell each, and return those that were not seen."""

    def attempt(fault: Fault | None) -> tuple[bool, str, float]:
        folder, began = folders.get(), time.monotonic()
        try:
            see, last = seen(fault, area.tests, folder) if fault else tested(folder, area.tests)
        finally:
            folders.put(folder)
        return see, last, time.monotonic() - began

    passed, last, seconds = attempt(None)
    if not passed:
        raise SystemExit(f"{area.name}: without any fault: {last}")
    print(f"{area.name}: {seconds:.0f} s without a fault", flush=True)
    unseen = []
    with ThreadPoolExecutor(jobs) as pool:
        for fault, (see, last, seconds) in zip(
            area.faults, pool.map(attempt, area.faults), strict=True
        ):
            if not see:
                unseen.append(fault)
            print(f"{'seen  ' if see else 'UNSEEN'} {seconds:4.0f} s  {fault}", flush=True)
            if see:
                print(f"                 {last}", flush=True)
    return unseen


def main() -> int:
    """Try what the command line asks for; 1 where a fault was not seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--area", nargs="+", help="names of files in scripts/mutants/")
    parser.add_argument("--only", nargs="+", help="faults that have one of these in their line")
    parser.add_argument("--jobs", type=int, default=1, help="faults tried at once")
    parser.add_argument("--list", action="store_true", help="tell the faults and run nothing")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree, this one by default")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    areas = read_areas(root / "scripts" / "mutants")
    if wrong := stale(areas, root):
        print(*wrong, sep="\n", file=sys.stderr)
        return 2
    names = [area.name for area in areas]
    if unknown := set(arguments.area or ()) - set(names):
        parser.error(f"no area {', '.join(sorted(unknown))}: there are {', '.join(names)}")
    words = arguments.only or [""]
    chosen = [
        Area(a.name, a.tests, [f for f in a.faults if any(word in str(f) for word in words)])
        for a in areas
        if not arguments.area or a.name in arguments.area
    ]
    if arguments.list:
        print(*(fault for area in chosen for fault in area.faults), sep="\n")
        return 0
    if (root / "ablate").is_dir():
        processes.set_forkserver_preload(PRELOADED)
    counts: dict[str, tuple[int, list[Fault]]] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        folders: queue.Queue[Path] = queue.Queue()
        for number in range(arguments.jobs):
            folder = Path(place) / f"tree{number}"
            shutil.copytree(root, folder, ignore=LEFT_OUT)
            folders.put(folder)
        for area in chosen:
            if area.faults:
                unseen = try_area(area, folders, arguments.jobs)
                counts[area.name] = len(area.faults), unseen
    for name, (tried, unseen) in counts.items():
        print(f"{name}: {tried - len(unseen)} of {tried} seen")
        print(*(f"  not seen: {fault}" for fault in unseen), sep="\n", end="\n" if unseen else "")
    return 1 if any(unseen for _, unseen in counts.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
