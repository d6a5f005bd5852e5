"""Initialisation recipes, each built as `Recipe(**options)`; see init.py for who calls them."""

import math

from torch import Generator, Tensor, nn

from ablate.errors import UserError
from ablate.model.init import InitRecipe
from ablate.model.placement.depth import GAINED, one_stack
from ablate.model.projection import Projection, Role
from ablate.model.shape import Shape


def positive(name: str, value: float) -> float:
    """`value`, or UserError where it is not above 0 and finite."""
    if not 0 < value < math.inf:
        raise UserError(f"{name}={value}: must be above 0 and finite")
    return value


class TorchInit(InitRecipe):
    """torch's defaults: weights and biases U(±1/sqrt(inputs)), embeddings N(0, 1)."""

    def embedding_std(self, width: int) -> float:
        return 1.0

    def weight(self, module: Projection, generator: Generator, shape: Shape) -> None:
        bound = module.in_features**-0.5
        nn.init.uniform_(module.weight, -bound, bound, generator=generator)

    def bias(self, module: Projection, bias: Tensor, generator: Generator) -> None:
        bound = module.in_features**-0.5
        nn.init.uniform_(bias, -bound, bound, generator=generator)


class GPT2Init(InitRecipe):
    """N(0, std²) for weights and embeddings, zero biases; std = 0.02.

    Radford et al. 2019, whose code draws output projections like every other map.
    """

    def __init__(self, *, std: float = 0.02) -> None:
        self.std = positive("std", std)

    def embedding_std(self, width: int) -> float:
        return self.std

    def weight(self, module: Projection, generator: Generator, shape: Shape) -> None:
        nn.init.normal_(module.weight, std=self.std, generator=generator)


class GPT2DepthScaledInit(InitRecipe):
    """GPT-2's with maps that write to the stream at std/sqrt(2·depth).

    Radford et al. 2019, section 2.3: attention's output and the feed-forward's last map, so that
    the variance of the stream does not grow with depth.
    """

    def __init__(self, *, std: float = 0.02) -> None:
        self.std = positive("std", std)

    def embedding_std(self, width: int) -> float:
        return self.std

    def weight(self, module: Projection, generator: Generator, shape: Shape) -> None:
        writes = module.role in ("output", "down")
        std = self.std / math.sqrt(2 * shape.depth) if writes else self.std
        nn.init.normal_(module.weight, std=std, generator=generator)


class XavierInit(InitRecipe):
    """U(±sqrt(6 / (inputs + outputs))) for weights, zero biases, embeddings N(0, 1/width).

    Glorot and Bengio 2010; the embeddings follow the original transformer's released code.
    """

    def embedding_std(self, width: int) -> float:
        return width**-0.5

    def weight(self, module: Projection, generator: Generator, shape: Shape) -> None:
        nn.init.xavier_uniform_(module.weight, generator=generator)


class DeepNormInit(InitRecipe):
    """N(0, 2g²/(inputs + outputs)), g = β on values, outputs and feed-forward and 1 elsewhere.

    β = (8·depth)^(−1/4) unless given, beside any norm placement; a gain that the placement asks
    for is not applied on top. Wang et al. 2022 (arXiv 2203.00555), figure 2.
    """

    def __init__(self, *, beta: float | None = None) -> None:
        self.beta = None if beta is None else positive("beta", beta)

    def embedding_std(self, width: int) -> float:
        return width**-0.5

    def weight(self, module: Projection, generator: Generator, shape: Shape) -> None:
        nn.init.xavier_normal_(module.weight, generator=generator)

    def gain(self, role: Role, depth: int, placement: float) -> float:
        if role not in GAINED:
            return 1.0
        return one_stack(depth).beta if self.beta is None else self.beta


class SmallInit(InitRecipe):
    """N(0, 2/(5·width)) for weights and embeddings, zero biases.

    Nguyen and Salazar 2019 (arXiv 1910.05895): Xavier's variance for a map from width to 4·width,
    for every map.
    """

    def embedding_std(self, width: int) -> float:
        return math.sqrt(2 / (5 * width))

    def weight(self, module: Projection, generator: Generator, shape: Shape) -> None:
        std = self.embedding_std(shape.width)
        nn.init.normal_(module.weight, std=std, generator=generator)


class OrthogonalInit(InitRecipe):
    """gain · Q, rows or columns of Q orthonormal; zero biases, embeddings N(0, 1/width).

    Saxe et al. 2013 (arXiv 1312.6120).
    """

    def __init__(self, *, gain: float = 1.0) -> None:
        self.factor = positive("gain", gain)

    def embedding_std(self, width: int) -> float:
        return width**-0.5

    def weight(self, module: Projection, generator: Generator, shape: Shape) -> None:
        nn.init.orthogonal_(module.weight, gain=self.factor, generator=generator)


class MuPInit(InitRecipe):
    """Maximal-update widths: with m = width/base_width, hidden maps N(0, std²/m), the head
    N(0, std²/m²), embeddings N(0, std²); zero biases.

    Yang et al. 2022 (arXiv 2203.03466), table 3, the initialisation alone: the learning rates per
    matrix and attention's 1/d are not part of it, and a tied head keeps the embedding's numbers.
    At width = base_width it is gpt2.
    """

    def __init__(self, *, std: float = 0.02, base_width: int = 64) -> None:
        self.std = positive("std", std)
        if base_width < 1:
            raise UserError(f"base_width={base_width}: must be at least 1")
        self.base_width = base_width

    def embedding_std(self, width: int) -> float:
        return self.std

    def weight(self, module: Projection, generator: Generator, shape: Shape) -> None:
        power = -1.0 if module.role == "head" else -0.5
        std = self.std * (shape.width / self.base_width) ** power
        nn.init.normal_(module.weight, std=std, generator=generator)
