"""A sentence in parts, so that nobody has to take one to pieces."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sentence:
    """A claim, the interval that stands in it, and the evidence for it.

    The interval stands before `rest`, which ends the claim; `joint` joins claim and evidence.
    """

    start: str
    interval: str = ""
    rest: str = ""
    joint: str = ": "
    evidence: str = ""

    @property
    def text(self) -> str:
        """The whole sentence."""
        between = f" {self.interval}" if self.interval else ""
        end = f"{self.joint}{self.evidence}" if self.evidence else ""
        return f"{self.start}{between}{self.rest}{end}"

    @property
    def claim(self) -> str:
        """What is said, without numbers that are evidence."""
        return f"{self.start}{self.rest}"

    @property
    def support(self) -> str:
        """The interval and the evidence.

        >>> said = Sentence("a is worse by 1 nat", "[0.5, 1.5]", " with b", evidence="3 seeds")
        >>> said.text, said.claim
        ('a is worse by 1 nat [0.5, 1.5] with b: 3 seeds', 'a is worse by 1 nat with b')
        >>> said.support
        '[0.5, 1.5]; 3 seeds'
        """
        return "; ".join(part for part in (self.interval, self.evidence) if part)
