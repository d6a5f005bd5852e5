"""The verb `sample`: let a trained run go on with a text."""

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor

from ablate.data.tokenizers import Tokenizer
from ablate.errors import UserError
from ablate.evaluate.finished import Finished, open_run
from ablate.model.cache import Cache
from ablate.model.transformer import Transformer
from ablate.shell.clean import clean_lines
from ablate.shell.parser import Parser

DESCRIPTION = """\
Continue a text with a trained run, token by token with the key-value cache.

  ablate sample outputs/default/RUN --prompt "def main("
  ablate sample pos=rope --tokens 400 --temperature 0.7    a run's name or how it begins"""

MOST_TOKENS = 10**6


def main(arguments: Sequence[str]) -> int:
    """Print the prompt and what the run makes of it; the exit code."""
    options = parser().parse(arguments)
    if not 0 <= options.temperature < math.inf:
        raise UserError(f"--temperature {options.temperature}: must be 0 or more")
    if not 1 <= options.tokens <= MOST_TOKENS:
        raise UserError(f"--tokens {options.tokens}: must be from 1 to {MOST_TOKENS}")
    if not 0 <= options.seed < 2**32:
        raise UserError(f"--seed {options.seed}: must be from 0 to {2**32 - 1}, as seed= is")
    folders = [Path(folder) for folder in options.config_dir]
    run = open_run(options.run, Path(options.outputs), [], folders)
    if not run.bench.task.causal:
        raise UserError(f"{run.directory.name}: an encoder cannot continue a text")
    text = continuation(run, options.prompt, options.tokens, options.temperature, options.seed)
    print(clean_lines(text) if sys.stdout.isatty() else text)
    return 0


def parser() -> Parser:
    """The flags of `ablate sample`."""
    parser = Parser("ablate sample", DESCRIPTION)
    parser.add_argument("run", help="a run's folder, or how its name begins")
    parser.add_argument(
        "--prompt", default="\n", help="the text to go on with (default: a new line)"
    )
    parser.add_argument("--tokens", type=int, default=200, help="how many to add (default: 200)")
    parser.add_argument(
        "--temperature",
        type=float,
        default=0.8,
        help="0 takes the likeliest token, 1 draws as the model says (default: 0.8)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    parser.add_argument("--outputs", default="outputs", help="where runs are (default: outputs)")
    parser.add_argument("--config-dir", action="append", default=[], help="your own choices")
    return parser


def continuation(run: Finished, prompt: str, tokens: int, temperature: float, seed: int) -> str:
    """The prompt and up to `tokens` more; fewer where the position scheme ends.

    Raises UserError where the prompt has no token that the run knows, or is too long for it.
    """
    if run.bench.corpus is None:
        name = run.bench.task.source.name
        raise UserError(f"{run.directory.name}: {name} has tokens of its own and no text")
    model, tokenizer = run.bench.model.eval(), run.bench.corpus.tokenizer
    start = encode(tokenizer, prompt)
    limit = model.position.max_length
    room = tokens if limit is None else min(tokens, limit - len(start) + 1)
    if room < 1:
        raise UserError(f"--prompt: {len(start)} tokens, but this scheme ends at {limit}")
    if room < tokens:
        print(f"ablate: the position scheme ends at {limit} tokens", file=sys.stderr)
    generator = torch.Generator().manual_seed(seed)
    try:
        added = list(generate(model, torch.tensor([start]), room, temperature, generator))
    except UserError as error:
        raise UserError(f"{run.directory.name}: {error}") from error
    return tokenizer.decode([*start, *added])


def encode(tokenizer: Tokenizer, prompt: str) -> list[int]:
    """The prompt's tokens; raises UserError where it has none."""
    try:
        tokens = [int(token) for token in tokenizer.encode(prompt)]
    except ValueError as error:
        raise UserError(f"--prompt: {error}") from error
    if not tokens:
        raise UserError("--prompt: at least one character is needed")
    return tokens


@torch.inference_mode()
def generate(
    model: Transformer,
    start: Tensor,
    tokens: int,
    temperature: float,
    generator: torch.Generator,
) -> Iterator[int]:
    """Token after token, each fed back through the cache; `start` is [1, length].

    Raises UserError where the model gives no finite number.
    """
    device = model.embedding.weight.device
    cache = Cache.empty(model.shape.depth)
    fed = start
    for _ in range(tokens):
        logits = model(fed.to(device), cache)[0, -1].float().cpu()
        if not logits.isfinite().all():
            raise UserError("its logits are not finite: a diverged run has nothing to say")
        if temperature == 0:
            token = int(logits.argmax())
        else:
            weights = (logits / temperature).softmax(-1)
            token = int(torch.multinomial(weights, 1, generator=generator))
        yield token
        fed = torch.tensor([[token]])
