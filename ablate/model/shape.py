"""What every part of a model may know about the whole, and parts that draw their parameters."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Generator


@dataclass(frozen=True)
class Shape:
    """The sizes that parts of one model share; every part is built as `Part(shape, **options)`.

    `seq_len` is the train length L in tokens, `causal` is false for an encoder, and
    `embedding_std` is the standard deviation that the init recipe gives token embeddings.
    """

    width: int
    depth: int
    heads: int
    seq_len: int
    vocabulary: int
    causal: bool = True
    embedding_std: float = 1.0

    @property
    def head_width(self) -> int:
        """Width of one attention head, d."""
        return self.width // self.heads


class Drawn(ABC):
    """A module with parameters of its own that are drawn at random, beside Linear and Embedding."""

    @abstractmethod
    def draw(self, generator: Generator) -> None:
        """Fill the module's own parameters."""
