"""Masked language modelling: predict hidden tokens from both sides."""

import numpy as np

from ablate.data.entry import TokenizedCorpus
from ablate.data.tasks import IGNORED, Batch, CorpusTask
from ablate.errors import UserError


class MaskedLanguageModelling(CorpusTask):
    """−ln p(t_i | the window with t_i hidden), for a random share of the tokens, in an encoder.

    Of the chosen tokens 80 % are replaced by a mask token of its own, 10 % by a random token, and
    10 % stay. Devlin et al. 2018 (arXiv 1810.04805).

    With `padding` p, rows of training and validation end after a number of tokens drawn uniformly
    from (1 − p) L to L, and a pad token fills them up; it is not attended to and costs no loss.
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
        padding: float = 0.0,
    ) -> None:
        super().__init__(corpus, seq_len=seq_len, batch_size=batch_size, seed=seed)
        if not 0 < share < 1:
            raise UserError(f"share={share}: must lie between 0 and 1")
        if not 0 <= padding < 1:
            raise UserError(f"padding={padding}: must be 0 or more and below 1")
        self.share = share
        self.shortest = max(1, round((1 - padding) * seq_len))

    @property
    def vocabulary(self) -> int:
        """The corpus's tokens, the mask token and, where rows are padded, the pad token."""
        return self.corpus.vocabulary + 1 + (self.shortest < self.seq_len)

    def whole(self, rows: np.ndarray, random: np.random.Generator) -> Batch:
        """A batch from rows of seq_len + 1 tokens, of unequal lengths where there is padding."""
        if self.shortest == self.seq_len:
            return self.view(rows, self.seq_len, random)
        lengths = random.integers(self.shortest, self.seq_len + 1, len(rows))
        padding = np.arange(self.seq_len) >= lengths[:, None]
        inputs, targets = self.hide(rows[:, 1:], ~padding, random)
        return Batch(np.where(padding, self.vocabulary - 1, inputs), targets, padding)

    def view(self, rows: np.ndarray, last: int, random: np.random.Generator) -> Batch:
        """Hide a share of the `last` positions, equally many in each row."""
        before, end = rows[:, 1:-last], rows[:, -last:]
        inputs, targets = self.hide(end, np.ones(end.shape, bool), random)
        unscored = np.full_like(before, IGNORED)
        return Batch(np.hstack([before, inputs]), np.hstack([unscored, targets]))

    def hide(
        self, tokens: np.ndarray, real: np.ndarray, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and targets with a share of each row's real tokens hidden, one at least."""
        count = np.maximum(1, np.floor(self.share * real.sum(axis=1, keepdims=True) + 0.5))
        order = np.where(real, random.random(tokens.shape), 2.0).argsort(axis=1)
        hidden = order.argsort(axis=1) < count
        fate = random.random(tokens.shape)
        replacements = random.integers(0, self.corpus.vocabulary, tokens.shape)
        inputs = np.select(
            [~hidden, fate < 0.8, fate < 0.9],
            [tokens, self.corpus.vocabulary, replacements],
            tokens,
        )
        return inputs, np.where(hidden, tokens, IGNORED)
