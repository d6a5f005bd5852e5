"""Language modelling: predict the next token."""

import numpy as np

from ablate.data.tasks import Batch, CorpusTask


class LanguageModelling(CorpusTask):
    """−ln p(t_{i+1} | t_1 .. t_i), at every position of a window."""

    causal = True

    def view(self, rows: np.ndarray, last: int, random: np.random.Generator) -> Batch:
        return Batch(rows[:, :-1], rows[:, 1:])
