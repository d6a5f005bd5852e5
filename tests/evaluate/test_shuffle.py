"""What shuffling the input does: nothing without a position in an encoder, something with one."""

import numpy as np
import pytest
import torch

from ablate.data.generated.generated_task import END
from ablate.data.lm import LanguageModelling
from ablate.data.mlm import MaskedLanguageModelling
from ablate.data.tasks import IGNORED, Batch, CorpusTask
from ablate.evaluate.shuffle import last_target, measure_shuffle, shuffle, without_end
from ablate.model.init import initialise
from ablate.model.normalizers import LayerNorm
from ablate.model.placement.rows import Pre
from ablate.model.position.additive import Sinusoidal
from ablate.model.position.base import NoPosition, PositionScheme
from ablate.model.recipes import TorchInit
from ablate.model.residual import ResidualRule
from ablate.model.shape import Shape
from ablate.model.transformer import Parts, Transformer
from tests.data.test_tasks import corpus


def model_of(scheme: type[PositionScheme], task: CorpusTask, depth: int = 2) -> Transformer:
    shape = Shape(16, depth, 2, task.seq_len, task.vocabulary, causal=task.causal)
    model = Transformer(shape, Parts(scheme(shape), Pre(LayerNorm), ResidualRule))
    initialise(model, TorchInit(), 0)
    return model


@pytest.mark.parametrize("padding", [0.0, 0.5])
def test_an_encoder_needs_a_position_scheme_to_mind_the_order(padding: float) -> None:
    task = MaskedLanguageModelling(corpus(), seq_len=20, batch_size=6, seed=0, padding=padding)
    blind = measure_shuffle(model_of(NoPosition, task), task, 2)
    assert blind.change == pytest.approx(0, abs=1e-6)
    assert blind.targets == sum(int((b.targets != IGNORED).sum()) for b in task.validation(2))
    seeing = measure_shuffle(model_of(Sinusoidal, task), task, 2)
    assert abs(seeing.change) > 1e-4
    low, high = seeing.interval
    assert low <= seeing.change <= high


def test_one_causal_block_without_position_is_blind_to_earlier_order_and_two_are_not() -> None:
    task = LanguageModelling(corpus(), seq_len=20, batch_size=6, seed=0)
    one, two = (measure_shuffle(model_of(NoPosition, task, depth), task, 2) for depth in (1, 2))
    assert one.change == pytest.approx(0, abs=1e-6)
    assert abs(two.change) > 1e-6
    assert one.targets == one.sequences == 12


def test_a_shuffle_keeps_targets_with_their_tokens_and_padding_in_its_place() -> None:
    tokens = np.arange(40).reshape(2, 20)
    padding = np.arange(20) >= np.array([[20], [12]])
    mixed = shuffle(Batch(tokens, tokens.copy(), padding), np.random.default_rng(0), causal=False)
    assert (mixed.inputs == mixed.targets).all()
    assert (mixed.inputs != tokens).any(axis=1).all()
    assert (mixed.inputs[padding] == tokens[padding]).all()
    assert (np.sort(mixed.inputs, axis=1) == tokens).all()


def test_a_decoder_keeps_the_last_token_and_its_target() -> None:
    tokens = np.arange(10).reshape(1, 10)
    targets = np.where(np.arange(10) < 7, tokens + 1, IGNORED)
    alone = last_target(Batch(tokens, targets))
    assert alone.targets.tolist() == [[IGNORED] * 6 + [7] + [IGNORED] * 3]
    mixed = shuffle(alone, np.random.default_rng(0), causal=True)
    assert (mixed.targets == alone.targets).all()
    assert (mixed.inputs[:, 6:] == tokens[:, 6:]).all()
    assert sorted(mixed.inputs[0, :6]) == list(range(6))
    assert (mixed.inputs != tokens).any()


def test_an_end_token_says_nothing_about_order() -> None:
    targets = np.array([[IGNORED, 5, 6, END]])
    left = without_end(Batch(np.zeros((1, 4), int), targets)).targets
    assert left.tolist() == [[IGNORED, 5, 6, IGNORED]]


def test_a_diverged_model_gives_no_interval() -> None:
    task = LanguageModelling(corpus(), seq_len=20, batch_size=6, seed=0)
    model = model_of(NoPosition, task)
    with torch.no_grad():
        model.head.weight.fill_(float("nan"))
    assert measure_shuffle(model, task, 1).interval is None


def test_one_sequence_has_no_interval() -> None:
    task = LanguageModelling(corpus(), seq_len=20, batch_size=1, seed=0)
    measured = measure_shuffle(model_of(Sinusoidal, task), task, 1)
    assert measured.sequences == 1
    assert measured.interval is None
