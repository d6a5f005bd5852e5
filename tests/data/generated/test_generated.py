"""What holds for every generated task: batches from a seed, room, padding, frequencies, names."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ablate.data.generated.generated_task import END, OWN, PAD
from ablate.data.tasks import IGNORED, Batch
from ablate.errors import UserError
from tests.data.generated.generated_parts import NAMES, choice, task_named

every_task = pytest.mark.parametrize("name", NAMES)


def same(one: Batch, other: Batch) -> bool:
    return bool((one.inputs == other.inputs).all() and (one.targets == other.targets).all())


def long_rows(*batches: Batch, least: int) -> set[tuple[int, ...]]:
    """Rows of so many tokens that no two are equal by chance."""
    rows = [tuple(row[row != PAD].tolist()) for batch in batches for row in batch.inputs]
    return {row for row in rows if len(row) >= least}


@every_task
def test_a_batch_follows_from_seed_and_step_alone(name: str) -> None:
    first, again, other = task_named(name), task_named(name), task_named(name, seed=1)
    again.batch(1)
    for step in (7, 3):
        assert same(first.batch(step), again.batch(step))
        assert not same(first.batch(step), other.batch(step))
    assert not same(first.batch(1), first.batch(2))


@every_task
def test_validation_and_measured_examples_are_the_same_for_every_seed(name: str) -> None:
    one, two = task_named(name), task_named(name, seed=5)
    for a, b in zip(one.validation(3), two.validation(3), strict=True):
        assert same(a, b)
    a, b, c = one.examples_at(64, 5, 0), two.examples_at(64, 5, 0), two.examples_at(64, 5, 1)
    assert a
    assert b
    assert c
    assert same(a, b)
    assert not same(b, c)


@every_task
def test_no_long_example_stands_in_two_of_training_validation_and_measurement(name: str) -> None:
    tasks = [task_named(name, seed=seed, batch_size=32) for seed in (0, 1)]
    trained = [long_rows(*(t.batch(s) for s in range(1, 30)), least=24) for t in tasks]
    held_out = long_rows(*tasks[0].validation(20), least=24)
    measured = tasks[0].examples_at(32, 200, 0)
    assert measured is not None
    sets = [*trained, held_out, long_rows(measured, least=24)]
    assert all(len(rows) > 100 for rows in sets)
    assert len(set.union(*sets)) == sum(map(len, sets))


@every_task
def test_rows_are_full_of_next_tokens_and_filled_up_at_the_end(name: str) -> None:
    task = task_named(name)
    for batch in (task.batch(1), *task.validation(1)):
        assert batch.inputs.shape == batch.targets.shape == (8, 32)
        assert batch.inputs.dtype == batch.targets.dtype == np.int64
        filled = batch.inputs == PAD
        assert (filled == batch.padding).all()
        assert (np.diff(filled.astype(int), axis=1) >= 0).all()
        assert (batch.targets[filled] == IGNORED).all()
        scored = (batch.targets != IGNORED)[:, :-1] & ~filled[:, 1:]
        assert (batch.targets[:, :-1][scored] == batch.inputs[:, 1:][scored]).all()
        assert (batch.targets != IGNORED).any(axis=1).all()


@every_task
def test_every_size_that_fits_is_trained_on_and_no_other(name: str) -> None:
    task = task_named(name, batch_size=64)
    rows = np.concatenate([task.batch(step).inputs for step in range(1, 25)])
    lengths = (rows != PAD).sum(axis=1)
    layout = task.layout
    sizes = range(layout.smallest, layout.largest(32) + 1)
    assert layout.length(layout.largest(32)) <= 32 < layout.length(layout.largest(32) + 1)
    assert set(lengths.tolist()) == {layout.length(size) for size in sizes}
    counts = np.unique(lengths, return_counts=True)[1]
    assert counts.min() > 0.5 * counts.mean()


@every_task
@settings(max_examples=25)
@given(length=st.integers(8, 300), count=st.integers(1, 3))
def test_examples_fill_the_length_asked_for(name: str, length: int, count: int) -> None:
    task = task_named(name)
    batch = task.examples_at(length, count, 0)
    if batch is None:
        assert length < task.layout.length(task.layout.smallest)
        return
    assert len(batch.inputs) == count
    assert length - task.layout.each < batch.inputs.shape[1] <= length
    assert (batch.inputs != PAD).all()
    assert batch.padding is None


@every_task
def test_the_vocabulary_is_used_to_its_last_token(name: str) -> None:
    task = task_named(name, seq_len=64, batch_size=64)
    occurring = {
        int(token) for step in range(1, 25) for token in np.unique(task.batch(step).inputs)
    }
    answers = {int(t) for step in range(1, 25) for t in np.unique(task.batch(step).targets)}
    assert (occurring | answers) - {IGNORED, PAD} <= set(range(1, task.vocabulary))
    assert set(range(OWN, task.vocabulary)) <= occurring | answers
    assert task.uniform == pytest.approx(np.log(task.vocabulary))


@every_task
def test_the_unigram_loss_is_what_a_guess_by_frequencies_gets_that_knows_the_end(name: str) -> None:
    task = task_named(name, batch_size=200)
    targets = np.concatenate([b.targets[b.targets != IGNORED] for b in task.validation(10)])
    counts = np.bincount(targets[targets != END], minlength=task.vocabulary)
    shares = counts / counts.sum()
    by_hand = -np.log(shares[targets[targets != END]]).sum() / len(targets)
    assert task.unigram() == pytest.approx(by_hand, abs=0.03)
    assert task.unigram_train() == task.unigram()


def test_the_unigram_loss_of_two_answers_is_that_of_a_coin() -> None:
    assert task_named("parity").unigram() == pytest.approx(np.log(2), abs=1e-3)
    assert task_named("word_order").unigram() == pytest.approx(np.log(2), abs=1e-3)


@every_task
def test_the_source_tells_one_generator_from_another_and_sizes_do_not_matter(name: str) -> None:
    one, other = task_named(name).source, task_named(name, seq_len=64, batch_size=2, seed=3).source
    assert one == other
    assert one.name.startswith(name)
    assert one.vocabulary == task_named(name).vocabulary
    assert one.tokens_train is one.tokens_validation is None
    for option, value in choice(name).items():
        if option != "_target_":
            assert f"{option}={value}" in one.name
            changed = task_named(name, **{option: not value if value is True else value + 1}).source
            assert changed.name != one.name
            assert changed.sha256 != one.sha256


def test_no_two_tasks_are_the_same() -> None:
    assert len({task_named(name).source.sha256 for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("copy", {"symbols": 1}, r"symbols=1: must be 2 or more"),
        ("induction", {"symbols": 0}, r"symbols=0: must be 2 or more"),
        (
            "passkey",
            {"digits": 20},
            r"needs at least 41 tokens, more than seq_len=32; .* or a smaller task.digits$",
        ),
        ("passkey", {"filler": 0}, r"filler=0: must be 1 or more"),
        ("associative_recall", {"pairs": 9}, r"needs at least 35 tokens.*a smaller task.pairs"),
        ("associative_recall", {"keys": 3}, r"keys=3: fewer than pairs=4"),
        ("addition", {"least_first": 1}, r"task.least_first=1: must be true or false"),
        ("copy", {"symbol": 3}, r"task.symbol: no such option"),
    ],
)
def test_a_mistake_is_told_in_words(name: str, options: dict, told: str) -> None:
    with pytest.raises(UserError, match=told):
        task_named(name, **options)
