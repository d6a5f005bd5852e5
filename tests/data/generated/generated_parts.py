"""Generated tasks as their files make them, and a solver for each that knows nothing of them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ablate.config.catalogue import Catalogue
from ablate.config.parts import locate, part
from ablate.data.generated.generated_task import END, GeneratedTask
from ablate.data.generated.sentences import WORDS
from ablate.data.tasks import IGNORED

CATALOGUE = Catalogue()


def choice(name: str) -> dict[str, Any]:
    """The content of a task's file."""
    path = CATALOGUE.path("task", name)
    assert isinstance(path, Path)
    target = path.read_text(encoding="utf-8").split("_target_: ")[1].split("\n")[0]
    options_of_file = CATALOGUE.choice("task", name)
    assert options_of_file is not None
    return {"_target_": target, **options_of_file.options}


def is_generated(name: str) -> bool:
    return issubclass(locate(choice(name)["_target_"], "task"), GeneratedTask)


NAMES = [name for name in CATALOGUE.names("task") if is_generated(name)]


def task_named(
    name: str, *, seq_len: int = 32, batch_size: int = 8, seed: int = 0, **options: Any
) -> GeneratedTask:
    """The task of a file, with options of one's own."""
    build = part({"task": {**choice(name), **options}}, "task")
    return build(seq_len=seq_len, batch_size=batch_size, seed=seed)


def targets_of(scored: dict[int, int], length: int) -> list[int]:
    return [scored.get(place, IGNORED) for place in range(length)]


def after(question: int, answer: Sequence[int], end: bool) -> dict[int, int]:
    """Targets from the ask token at place `question` on."""
    return {question + i: token for i, token in enumerate([*answer, *([END] if end else [])])}


def copied(row: list[int]) -> dict[int, int]:
    ask = row.index(2)
    return after(ask, row[:ask], True)


def turned_round(row: list[int]) -> dict[int, int]:
    ask = row.index(2)
    return after(ask, [row[ask - 1 - i] for i in range(ask)], True)


def in_order(row: list[int]) -> dict[int, int]:
    ask = row.index(2)
    return after(ask, [t for kind in range(3, 29) for t in row[:ask] if t == kind], True)


def odd_or_even(row: list[int]) -> dict[int, int]:
    ask, odd = row.index(2), False
    for bit in row[:ask]:
        assert bit in (3, 4)
        odd ^= bit == 4
    return after(ask, [4 if odd else 3], False)


def summed(row: list[int]) -> dict[int, int]:
    plus, ask = row.index(13), row.index(2)
    a, b = ("".join(str(t - 3) for t in row[i:j][::-1]) for i, j in ((0, plus), (plus + 1, ask)))
    total = str(int(a) + int(b)).zfill(len(a) + 1)
    return after(ask, [int(digit) + 3 for digit in total[::-1]], True)


def recalled(row: list[int]) -> dict[int, int]:
    bound, scored = {}, {}
    for place in range(0, len(row), 2):
        key = row[place]
        assert (key < 3 + 32) == (place < 8 or key in bound)
        if place < 8:
            bound[key] = row[place + 1]
        elif key in bound:
            scored[place] = bound.pop(key)
    assert not bound
    return scored


def continued(row: list[int]) -> dict[int, int]:
    """Where what has been repeated so far stands at one earlier place alone, what came after."""
    half, scored = (len(row) + 1) // 2, {}
    for place in range(half, len(row)):
        so_far = row[half : place + 1]
        ends = [
            start + len(so_far)
            for start in range(half)
            if row[start : start + len(so_far)] == so_far
        ]
        if len(ends) == 1:
            scored[place] = row[ends[0]]
    return scored


def passkey_answer(row: list[int]) -> dict[int, int]:
    mark, ask = row.index(13), row.index(2)
    return after(ask, row[mark + 1 : mark + 6], False)


def word_order_answer(row: list[int]) -> dict[int, int]:
    ask = row.index(2)
    nouns = [w for w in (WORDS[t - 3] for t in row[:ask]) if w in WORDS[:8]]
    assert len(nouns) == 2
    return after(ask, [23 if nouns == sorted(nouns) else 24], False)


SOLVERS: dict[str, Callable[[list[int]], dict[int, int]]] = {
    "addition": summed,
    "associative_recall": recalled,
    "copy": copied,
    "induction": continued,
    "parity": odd_or_even,
    "passkey": passkey_answer,
    "reverse": turned_round,
    "sort": in_order,
    "word_order": word_order_answer,
}
