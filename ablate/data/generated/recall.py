"""Tasks of finding something again: associative recall, induction, passkey."""

import numpy as np

from ablate.data.generated.generated_task import (
    OWN,
    Example,
    ExampleLayout,
    GeneratedTask,
    asked,
    at_least,
)
from ablate.errors import UserError

NEARNESS = 0.01
"""The power law of the questions' places g is g^(NEARNESS − 1)."""


class AssociativeRecall(GeneratedTask):
    """k_1 v_1 .. k_D v_D, then n places of two tokens, of which D are k_i v_i again: v_i is asked.

    The other places hold random values, so that each key is bound once and asked once. The places
    g of the questions are drawn, without repeats, with p(g) ∝ g^(0.01 − 1), g = 1 .. n. Multi-query
    associative recall of Arora et al. 2023 (arXiv 2312.04927), section 4 and its code, where the
    other places may hold keys too.
    """

    name = "associative_recall"
    facts = frozenset({"retrieval"})

    def __init__(
        self,
        *,
        pairs: int,
        keys: int,
        values: int,
        **sizes: int,
    ) -> None:
        at_least(1, pairs=pairs)
        at_least(2, keys=keys, values=values)
        if keys < pairs:
            raise UserError(f"keys={keys}: fewer than pairs={pairs}, and each pair has its own key")
        super().__init__(
            layout=ExampleLayout(fixed=2 * pairs - 1, each=2, smallest=pairs, longer="pairs"),
            words=keys + values,
            options={"pairs": pairs, "keys": keys, "values": values},
            **sizes,
        )
        self.pairs, self.keys, self.values = pairs, keys, values

    def example(self, size: int, random: np.random.Generator) -> Example:
        first_value = OWN + self.keys
        keys = OWN + random.choice(self.keys, self.pairs, replace=False)
        places = first_value + random.integers(0, self.values, (self.pairs + size, 2))
        places[: self.pairs, 0] = keys
        # The smallest of exponential times with these rates: draws by weight without repeats.
        rates = np.arange(1, size + 1) ** (NEARNESS - 1)
        questions = (random.exponential(size=size) / rates).argsort()[: self.pairs]
        places[self.pairs + questions] = places[: self.pairs]
        answers = np.zeros(places.shape, dtype=bool)
        answers[self.pairs + questions, 1] = True
        return Example(places.ravel(), answers.ravel())


class Induction(GeneratedTask):
    """x_1 .. x_n x_1 .. x_n: of A B .. A follows B. Olsson et al. 2022 (arXiv 2209.11895).

    Symbols of x are all different; beyond their number they come round in another order. Answers
    are the tokens of the second half, from where its first tokens have exactly one earlier match.
    """

    name = "induction"
    facts = frozenset({"retrieval"})

    def __init__(self, *, symbols: int, **sizes: int) -> None:
        at_least(2, symbols=symbols)
        super().__init__(
            layout=ExampleLayout(fixed=-1, each=2, smallest=2),
            words=symbols,
            options={"symbols": symbols},
            **sizes,
        )
        self.symbols = symbols

    def example(self, size: int, random: np.random.Generator) -> Example:
        rounds = -(-size // self.symbols)
        permutations = [random.permutation(self.symbols) for _ in range(rounds)]
        half = OWN + np.concatenate(permutations)[:size]
        tokens = np.concatenate([half, half])
        return Example(tokens, np.arange(2 * size) >= size + tokens_to_match(half))


def tokens_to_match(half: np.ndarray) -> int:
    """How many first tokens of a repeated sequence occur, in that order, only at its start.

    >>> tokens_to_match(np.array([5, 7, 6])), tokens_to_match(np.array([5, 7, 6, 5, 8]))
    (1, 2)
    """
    text = np.concatenate([half, half])
    starts = np.arange(1, len(half))
    for count in range(1, len(half)):
        starts = starts[text[starts + count - 1] == half[count - 1]]
        if len(starts) == 0:
            return count
    return len(half)


class Passkey(GeneratedTask):
    """A key of d digits at a random place in n tokens of filler, to be said at the end:

    f .. f key d_1 .. d_d f .. f ? d_1 .. d_d

    Mohtashami and Jaggi 2023 (arXiv 2305.16300); filler here is random, not one sentence again
    and again.
    """

    name = "passkey"
    facts = frozenset({"retrieval"})

    def __init__(self, *, digits: int, filler: int, **sizes: int) -> None:
        at_least(1, digits=digits, filler=filler)
        super().__init__(
            layout=ExampleLayout(fixed=2 * digits + 1, each=1, smallest=0, longer="digits"),
            words=11 + filler,
            options={"digits": digits, "filler": filler},
            **sizes,
        )
        self.digits, self.filler = digits, filler

    def example(self, size: int, random: np.random.Generator) -> Example:
        key, mark = OWN + random.integers(0, 10, self.digits), OWN + 10
        text = mark + 1 + random.integers(0, self.filler, size)
        depth = random.integers(0, size + 1)
        question = np.concatenate([text[:depth], [mark], key, text[depth:]])
        return asked(question, key, end=False)
