"""Modules that draw their own parameters."""

from abc import ABC, abstractmethod

from torch import Generator


class Drawn(ABC):
    """A module with parameters of its own that are drawn at random, beside Linear and Embedding."""

    @abstractmethod
    def draw(self, generator: Generator) -> None:
        """Fill the module's own parameters."""
