"""Tasks on numbers: parity and addition."""

import numpy as np

from ablate.data.generated.generated_task import OWN, Example, ExampleLayout, GeneratedTask, asked

PLUS = OWN + 10
"""The token between the numbers of an addition; digits stand before it."""


class Parity(GeneratedTask):
    """b_1 .. b_n ? p with p = (b_1 + .. + b_n) mod 2, bits drawn uniformly.

    Delétang et al. 2022 (arXiv 2207.02098).
    """

    name = "parity"

    def __init__(self, **sizes: int) -> None:
        super().__init__(
            layout=ExampleLayout(fixed=1, each=1, smallest=1),
            words=2,
            options={},
            **sizes,
        )

    def example(self, size: int, random: np.random.Generator) -> Example:
        bits = random.integers(0, 2, size)
        return asked(OWN + bits, OWN + bits.sum(keepdims=True) % 2, end=False)


class Addition(GeneratedTask):
    """a + b ? s end, with n digits each in a and b and n + 1 in s, leading zeros written.

    With `least_first` all three numbers begin with their least significant digit, so that a
    carry comes from the left, where a decoder can see. Lee et al. 2023 (arXiv 2307.03381).
    """

    name = "addition"

    def __init__(self, *, least_first: bool, **sizes: int) -> None:
        super().__init__(
            layout=ExampleLayout(fixed=3, each=3, smallest=1),
            words=11,
            options={"least_first": least_first},
            **sizes,
        )
        self.least_first = least_first

    def example(self, size: int, random: np.random.Generator) -> Example:
        a, b = random.integers(0, 10, (2, size))
        numbers = [a, b, add(a, b)]
        a, b, total = numbers if self.least_first else [number[::-1] for number in numbers]
        question = np.concatenate([OWN + a, [PLUS], OWN + b])
        return asked(question, OWN + total, end=True)


def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sum of two numbers of n digits, least significant first, as n + 1 digits.

    >>> add(np.array([9, 9]), np.array([1, 0])).tolist()
    [0, 0, 1]
    """
    digits, carry = [], 0
    for pair in (a + b).tolist():
        carry, digit = divmod(pair + carry, 10)
        digits.append(digit)
    return np.array([*digits, carry])
