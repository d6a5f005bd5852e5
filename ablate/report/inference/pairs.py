"""What is compared, by name, before it is judged."""

from dataclasses import dataclass
from typing import Literal

from ablate.judge.looks import PlannedLook
from ablate.report.inference.outcomes import Cells

Kind = Literal["arm", "main", "interaction"]
Conditions = tuple[tuple[str, str], ...]
"""Factors with the level that each is held at: (("norm", "post"), ("depth", "24"))."""


@dataclass(frozen=True)
class Pair:
    """Two sides, or four of an interaction, with their cells; `cell_keys` name a cell's values.

    `look` is the planned look that it is judged at, of whose seeds the sides are.
    """

    kind: Kind
    factors: tuple[str, ...]
    levels: tuple[str, ...]
    references: tuple[str, ...]
    name: str
    against: str
    signs: tuple[int, ...]
    sides: tuple[Cells, ...]
    cell_keys: tuple[str, ...] = ()
    look: PlannedLook | None = None

    @property
    def share(self) -> float:
        """How much of the level of 5 % its look has."""
        return self.look.share if self.look else 1.0
