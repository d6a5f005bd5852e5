"""Tasks on strings of symbols: copy, reverse, sort."""

from abc import abstractmethod

import numpy as np

from ablate.data.generated.generated_task import (
    OWN,
    Example,
    ExampleLayout,
    GeneratedTask,
    asked,
    at_least,
)


class StringTask(GeneratedTask):
    """x_1 .. x_n ? y_1 .. y_n end, with y a rearrangement of x.

    Symbols are drawn uniformly and independently; n grows with the length asked for.
    """

    def __init__(self, *, symbols: int, **sizes: int) -> None:
        at_least(2, symbols=symbols)
        super().__init__(
            layout=ExampleLayout(fixed=1, each=2, smallest=1),
            words=symbols,
            options={"symbols": symbols},
            **sizes,
        )
        self.symbols = symbols

    def example(self, size: int, random: np.random.Generator) -> Example:
        string = OWN + random.integers(0, self.symbols, size)
        return asked(string, self.answer(string), end=True)

    @abstractmethod
    def answer(self, string: np.ndarray) -> np.ndarray:
        """The answer to a string, of equally many tokens."""


class Copy(StringTask):
    """y_i = x_i. Graves et al. 2014 (arXiv 1410.5401)."""

    name = "copy"

    def answer(self, string: np.ndarray) -> np.ndarray:
        return string


class Reverse(StringTask):
    """y_i = x_{n+1−i}. Grefenstette et al. 2015 (arXiv 1506.02516)."""

    name = "reverse"

    def answer(self, string: np.ndarray) -> np.ndarray:
        return string[::-1]


class Sort(StringTask):
    """y = x in ascending order, repeats kept. Delétang et al. 2022 (arXiv 2207.02098)."""

    name = "sort"

    def answer(self, string: np.ndarray) -> np.ndarray:
        return np.sort(string)
