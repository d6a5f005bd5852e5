"""Initialisation recipes.

Every module draws from a generator of its own, seeded by the run's seed and the module's name. Two
arms of one seed thus start with equal numbers wherever they have an equally named part, whatever
else differs between them.
"""

import hashlib
from abc import ABC, abstractmethod

import torch
from torch import Generator, Tensor, nn

from ablate.model.attention import Projection


class Drawn(ABC):
    """A module with parameters of its own that are drawn at random, beside Linear and Embedding."""

    @abstractmethod
    def draw(self, generator: Generator) -> None:
        """Fill the module's own parameters."""


class InitRecipe(ABC):
    """How linear maps and embeddings are drawn; norms and gates start where they are built."""

    @abstractmethod
    def embedding_std(self, width: int) -> float:
        """Standard deviation of the token embeddings' entries."""

    @abstractmethod
    def weight(self, module: Projection, generator: Generator) -> None:
        """Fill a projection's weight."""

    @abstractmethod
    def bias(self, module: Projection, bias: Tensor, generator: Generator) -> None:
        """Fill a projection's bias."""


class TorchInit(InitRecipe):
    """torch's defaults: weights and biases U(±1/sqrt(inputs)), embeddings N(0, 1)."""

    def embedding_std(self, width: int) -> float:
        return 1.0

    def weight(self, module: Projection, generator: Generator) -> None:
        bound = module.in_features**-0.5
        nn.init.uniform_(module.weight, -bound, bound, generator=generator)

    def bias(self, module: Projection, bias: Tensor, generator: Generator) -> None:
        bound = module.in_features**-0.5
        nn.init.uniform_(bias, -bound, bound, generator=generator)


class GPT2Init(InitRecipe):
    """N(0, std²) for weights and embeddings, zero biases; std = 0.02.

    Radford et al. 2019 and its released code.
    """

    def __init__(self, *, std: float = 0.02) -> None:
        self.std = std

    def embedding_std(self, width: int) -> float:
        return self.std

    def weight(self, module: Projection, generator: Generator) -> None:
        nn.init.normal_(module.weight, std=self.std, generator=generator)

    def bias(self, module: Projection, bias: Tensor, generator: Generator) -> None:
        nn.init.zeros_(bias)


class XavierInit(InitRecipe):
    """U(±sqrt(6 / (inputs + outputs))) for weights, zero biases, embeddings N(0, 1/width).

    Glorot and Bengio 2010; the embeddings follow the original transformer's released code.
    """

    def embedding_std(self, width: int) -> float:
        return width**-0.5

    def weight(self, module: Projection, generator: Generator) -> None:
        nn.init.xavier_uniform_(module.weight, generator=generator)

    def bias(self, module: Projection, bias: Tensor, generator: Generator) -> None:
        nn.init.zeros_(bias)


def named_seed(seed: int, name: str) -> int:
    """A seed of 63 bits that depends on `seed` and `name` alone."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def named_generator(seed: int, name: str) -> Generator:
    """A CPU generator whose stream depends on the seed and the name alone."""
    return Generator().manual_seed(named_seed(seed, name))


@torch.no_grad()
def initialise(model: nn.Module, recipe: InitRecipe, seed: int) -> None:
    """Draw every random parameter of `model`, which must lie on the CPU.

    A tied matrix is drawn once, as the embedding. Raises TypeError for a linear map or a parameter
    holder that no recipe knows, so that nothing keeps unseeded numbers.
    """
    drawn: set[int] = set()
    for name, module in model.named_modules():
        generator = named_generator(seed, name)
        if isinstance(module, nn.Embedding):
            std = recipe.embedding_std(module.embedding_dim)
            nn.init.normal_(module.weight, std=std, generator=generator)
            drawn.add(id(module.weight))
        elif isinstance(module, Projection):
            if id(module.weight) not in drawn:
                recipe.weight(module, generator)
            if module.bias is not None:
                recipe.bias(module, module.bias, generator)
        elif isinstance(module, Drawn):
            module.draw(generator)
        elif isinstance(module, nn.Linear):
            raise TypeError(f"{name}: use Projection or Drawn, so that it is drawn from its seed")
