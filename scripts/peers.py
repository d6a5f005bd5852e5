"""A plain GPT and other libraries' models, trained by a plain loop: what bench.py compares with."""

import importlib.util
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ablate.data.tasks import Task


class PlainBlock(nn.Module):
    """Pre-norm attention with one matrix for queries, keys and values, then a GELU layer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(mixed.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class PlainGPT(nn.Module):
    """Embedding, blocks, norm and head; no position scheme."""

    def __init__(self, vocabulary: int, config: Mapping[str, Any]) -> None:
        super().__init__()
        width = config["width"]
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.Sequential(
            *(PlainBlock(width, config["heads"]) for _ in range(config["depth"]))
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.norm(self.blocks(self.embedding(tokens))))


class TorchEncoder(nn.Module):
    """torch.nn.TransformerEncoder with a causal mask."""

    def __init__(self, vocabulary: int, config: Mapping[str, Any]) -> None:
        super().__init__()
        width, length = config["width"], config["seq_len"]
        layer = nn.TransformerEncoderLayer(
            width, config["heads"], 4 * width, 0.0, F.gelu, batch_first=True, norm_first=True
        )
        self.embedding = nn.Embedding(vocabulary, width)
        self.stack = nn.TransformerEncoder(layer, config["depth"], nn.LayerNorm(width), False)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.mask = nn.Transformer.generate_square_subsequent_mask(length)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.stack(self.embedding(tokens), mask=self.mask, is_causal=True))


def x_transformers(vocabulary: int, config: Mapping[str, Any]) -> nn.Module:
    """x-transformers with its flash path and no position."""
    from x_transformers import Decoder, TransformerWrapper

    layers = Decoder(
        dim=config["width"],
        depth=config["depth"],
        heads=config["heads"],
        attn_dim_head=config["width"] // config["heads"],
        attn_flash=True,
    )
    return TransformerWrapper(
        num_tokens=vocabulary,
        max_seq_len=config["seq_len"],
        use_abs_pos_emb=False,
        attn_layers=layers,
    )


class Gpt2(nn.Module):
    """GPT-2 of transformers, with its learned positions."""

    def __init__(self, vocabulary: int, config: Mapping[str, Any]) -> None:
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel

        self.model = GPT2LMHeadModel(
            GPT2Config(
                vocab_size=vocabulary,
                n_positions=config["seq_len"],
                n_embd=config["width"],
                n_layer=config["depth"],
                n_head=config["heads"],
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
                bos_token_id=0,
                eos_token_id=0,
            )
        )

    def forward(self, tokens: Tensor) -> Tensor:
        return self.model(tokens, use_cache=False).logits


PEERS: dict[str, tuple[str, Callable[..., nn.Module]]] = {
    "plain GPT": ("torch", PlainGPT),
    "torch.nn.TransformerEncoder": ("torch", TorchEncoder),
    "x-transformers": ("x_transformers", x_transformers),
    "transformers GPT-2": ("transformers", Gpt2),
}
"""Name → the package that it needs, and what makes its model from a vocabulary and a config."""


def installed() -> Iterable[str]:
    """The peers whose packages are here; the others come with the extra [bench]."""
    return [name for name, (package, _) in PEERS.items() if importlib.util.find_spec(package)]


def plain_loop(name: str, task: Task, config: Mapping[str, Any]) -> Callable[[], None]:
    """A function that trains a peer for one step: clipped gradient, fused AdamW, loss and norm."""
    torch.manual_seed(0)
    model = PEERS[name][1](task.vocabulary, config)
    parameters = [*model.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=config["lr"], fused=True)
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        batch = task.batch(done)
        tokens, targets = torch.from_numpy(batch.inputs), torch.from_numpy(batch.targets)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        loss.backward()
        norm = nn.utils.clip_grad_norm_(parameters, config["clip"])
        optimizer.step()
        loss.item(), norm.item()

    return step
