"""Masked language modelling: predict hidden tokens from both sides."""

import math

import numpy as np

from ablate.data.store import TokenizedCorpus
from ablate.data.tasks import IGNORED, Batch, Task
from ablate.errors import UserError


class MaskedLanguageModelling(Task):
    """−ln p(t_i | the window with t_i hidden), for a random share of the tokens, in an encoder.

    Of the chosen tokens 80 % are replaced by a mask token of its own, 10 % by a random token, and
    10 % stay. Devlin et al. 2018 (arXiv 1810.04805).
    """

    causal = False

    def __init__(
        self,
        corpus: TokenizedCorpus,
        *,
        seq_len: int,
        batch_size: int,
        seed: int,
        share: float = 0.15,
    ) -> None:
        super().__init__(corpus, seq_len=seq_len, batch_size=batch_size, seed=seed)
        if not 0 < share < 1:
            raise UserError(f"share={share}: must lie between 0 and 1")
        self.share = share

    @property
    def vocabulary(self) -> int:
        """The corpus's tokens and the mask token, which is the last."""
        return self.corpus.vocabulary + 1

    def view(self, rows: np.ndarray, last: int, random: np.random.Generator) -> Batch:
        """Hide a share of the `last` positions, equally many in each row."""
        tokens = rows[:, 1:]
        hidden = max(1, math.floor(self.share * last + 0.5))
        order = np.argsort(random.random((len(tokens), last)), axis=1)[:, :hidden]
        places = tokens.shape[1] - last + order
        row = np.arange(len(tokens))[:, None]
        targets = np.full_like(tokens, IGNORED)
        targets[row, places] = tokens[row, places]
        fate = random.random(places.shape)
        drawn = random.integers(0, self.corpus.vocabulary, places.shape)
        inputs = tokens.copy()
        inputs[row, places] = np.select(
            [fate < 0.8, fate < 0.9], [self.corpus.vocabulary, drawn], tokens[row, places]
        )
        return Batch(inputs, targets)
