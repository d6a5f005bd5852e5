"""Hyper-connections: several residual streams with trained mixing."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.residual import ResidualRule, Site

Streams = Float[Tensor, "streams batch length width"]


class StaticMixing(nn.Module):
    """Mixing by trained numbers: `take` [n] for the input, `keep` [n, n] from stream to stream,
    `give` [n] for the output.
    """

    def __init__(self, streams: int, site: Site) -> None:
        super().__init__()
        self.take = nn.Parameter(torch.eye(streams)[(site.number - 1) % streams].clone())
        self.keep = nn.Parameter(torch.eye(streams))
        self.give = nn.Parameter(torch.ones(streams))

    def read(self, state: Streams) -> Float[Tensor, "batch length width"]:
        """Σ_i take_i x_i."""
        return torch.tensordot(self.take, state, dims=1)

    def write(self, state: Streams, y: Float[Tensor, "batch length width"]) -> Streams:
        """Stream j becomes Σ_i keep_ij x_i + give_j y."""
        # One product over streams and output together, faster than two and a sum.
        weights = torch.cat([self.keep.T, self.give[:, None]], dim=1)
        return torch.tensordot(weights, torch.cat([state, y[None]]), dims=1)


class DynamicMixing(nn.Module):
    """Static mixing plus s · tanh(W N(x_i)) per token, W from 0 and s from 0.01; N without gain."""

    def __init__(self, streams: int, site: Site) -> None:
        super().__init__()
        self.static = StaticMixing(streams, site)
        self.take_map = nn.Parameter(torch.zeros(1, site.width))
        self.keep_map = nn.Parameter(torch.zeros(streams, site.width))
        self.give_map = nn.Parameter(torch.zeros(1, site.width))
        self.mixing_scale = nn.Parameter(torch.full((1,), 0.01))
        self.giving_scale = nn.Parameter(torch.full((1,), 0.01))

    def read(self, state: Streams) -> Float[Tensor, "batch length width"]:
        """Σ_i take_i(x) x_i."""
        moved = torch.tanh(F.linear(self._normed(state), self.take_map))
        take = self.static.take[:, None, None, None] + self.mixing_scale * moved
        return (take * state).sum(0)

    def write(self, state: Streams, y: Float[Tensor, "batch length width"]) -> Streams:
        """Stream j becomes Σ_i keep_ij(x) x_i + give_j(x) y."""
        normed = self._normed(state)
        moved = torch.tanh(F.linear(normed, torch.cat([self.keep_map, self.give_map])))
        keep = self.static.keep[:, None, None, :] + self.mixing_scale * moved[..., :-1]
        give = self.static.give[:, None, None, None] + self.giving_scale * moved[..., -1:]
        return torch.einsum("iblj,iblw->jblw", keep, state) + give * y

    @staticmethod
    def _normed(state: Streams) -> Streams:
        return F.layer_norm(state, state.shape[-1:])


class HyperConnections(ResidualRule):
    """n streams X: F reads Σ_i A_i X_i, then X_j ← Σ_i K_ij X_i + B_j F; A, K, B are trained.

    At the start A picks one stream in turn, K is the identity and B ones: equal to pre-norm.
    Zhu et al. 2024 (arXiv 2409.19606). Where the paper sums the streams at the end we take their
    mean, so that the start equals pre-norm also without a final norm. Mixing goes over n streams
    for every token, which at small widths is most of a step's time.
    """

    additive = False
    one_stream = False

    def __init__(self, site: Site, *, streams: int = 4, dynamic: bool = True) -> None:
        super().__init__(site)
        if streams < 1:
            raise UserError(f"streams={streams}: must be at least 1")
        self.streams = streams
        self.mixing = (DynamicMixing if dynamic else StaticMixing)(streams, site)

    def open(self, x: Float[Tensor, "batch length width"]) -> Streams:
        return x.expand(self.streams, *x.shape)

    def enter(self, state: Streams, change: Callable[[Tensor], Tensor]) -> Streams:
        return torch.stack([change(x) for x in state])

    def read(self, state: Streams) -> Float[Tensor, "batch length width"]:
        return self.mixing.read(state)

    def write(self, state: Streams, y: Tensor) -> Streams:
        return self.mixing.write(state, y)

    def close(self, state: Streams) -> Float[Tensor, "batch length width"]:
        return state.mean(0)
