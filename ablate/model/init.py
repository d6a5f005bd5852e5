"""Drawing a model's parameters from a seed; the recipes are in recipes.py.

Every module draws from a generator of its own, seeded by the run's seed and the module's name. Two
arms of one seed thus start with equal numbers wherever they have an equally named part, whatever
else differs between them.
"""

import hashlib
from abc import ABC, abstractmethod

import torch
from torch import Generator, Tensor, nn

from ablate.model.projection import Projection, Role
from ablate.model.shape import Drawn, Shape
from ablate.model.transformer import Transformer


class InitRecipe(ABC):
    """How linear maps and embeddings are drawn; norms and gates start where they are built."""

    @abstractmethod
    def embedding_std(self, width: int) -> float:
        """Standard deviation of the token embeddings' entries."""

    @abstractmethod
    def weight(self, module: Projection, generator: Generator, shape: Shape) -> None:
        """Fill a projection's weight, before any gain."""

    def bias(self, module: Projection, bias: Tensor, generator: Generator) -> None:
        """Fill a projection's bias: zeros."""
        nn.init.zeros_(bias)

    def gain(self, role: Role, depth: int, placement: float) -> float:
        """The factor on a block's weight; `placement` is the norm placement's own factor."""
        return placement


def named_seed(seed: int, name: str) -> int:
    """A seed of 63 bits that depends on `seed` and `name` alone."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def named_generator(seed: int, name: str) -> Generator:
    """A CPU generator whose stream depends on the seed and the name alone."""
    return Generator().manual_seed(named_seed(seed, name))


@torch.no_grad()
def initialise(model: Transformer, recipe: InitRecipe, seed: int) -> None:
    """Draw every random parameter of `model`, which must lie on the CPU.

    A tied matrix is drawn once, as the embedding. A placement that sets something from a first
    pass (Admin's ω) does so at the end. Raises TypeError for a linear map that is neither a
    Projection nor Drawn, so that nothing keeps unseeded numbers.
    """
    drawn_weights: set[int] = set()
    depth = model.shape.depth
    for name, module in model.named_modules():
        generator = named_generator(seed, name)
        if isinstance(module, nn.Embedding):
            std = recipe.embedding_std(module.embedding_dim)
            nn.init.normal_(module.weight, std=std, generator=generator)
            drawn_weights.add(id(module.weight))
        elif isinstance(module, Projection):
            if id(module.weight) not in drawn_weights:
                recipe.weight(module, generator, model.shape)
                placement_gain = model.placement.gain(module.role, depth)
                module.weight.mul_(recipe.gain(module.role, depth, placement_gain))
            if module.bias is not None:
                recipe.bias(module, module.bias, generator)
        elif isinstance(module, Drawn):
            module.draw(generator)
        elif isinstance(module, nn.Linear):
            raise TypeError(f"{name}: use Projection or Drawn, so that it is drawn from its seed")
    tokens = first_tokens(model.shape, named_generator(seed, "first pass"))
    model.placement.profile(model.blocks, lambda: first_pass(model, tokens))


def first_tokens(shape: Shape, generator: Generator) -> Tensor:
    """Uniform tokens for a first pass: 8 sequences of the train length, 64 tokens at most."""
    size = (8, min(shape.seq_len, 64))
    return torch.randint(shape.vocabulary, size, generator=generator)


def first_pass(model: Transformer, tokens: Tensor) -> None:
    """Run the model as in training, and leave its buffers and torch's generator as they were."""
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        was_training = model.training
        model.train()(tokens)
        model.train(was_training)
    for name, buffer in model.named_buffers():
        buffer.copy_(before[name])
