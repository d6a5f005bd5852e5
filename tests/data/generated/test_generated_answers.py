"""Every answer is right: an independent solver finds the same from the question alone."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from ablate.data.generated.generated_task import ASK, END, OWN, PAD
from ablate.data.generated.sentences import ADVERBS, BACKWARD, FORWARD, NOUNS, VERBS, WORDS
from ablate.data.tasks import IGNORED
from tests.data.generated.generated_parts import NAMES, SOLVERS, targets_of, task_named


def real(row: np.ndarray) -> list[int]:
    return [int(token) for token in row if token != PAD]


def test_there_is_a_solver_for_every_task() -> None:
    assert sorted(SOLVERS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_solver_agrees_with_every_target_of_short_and_long_examples(name: str) -> None:
    task = task_named(name)
    measured = [task.examples_at(length, 20, 0) for length in (20, 31, 32, 64, 257)]
    for batch in [*(task.batch(step) for step in range(1, 20)), *task.validation(4), *measured]:
        assert batch is not None
        for inputs, targets in zip(batch.inputs, batch.targets, strict=True):
            row = real(inputs)
            assert targets[: len(row)].tolist() == targets_of(SOLVERS[name](row), len(row))
            assert (targets[len(row) :] == IGNORED).all()


def test_most_significant_digits_first_is_the_same_sum() -> None:
    batch = task_named("addition", least_first=False).examples_at(30, 50, 0)
    assert batch is not None
    for inputs, targets in zip(batch.inputs, batch.targets, strict=True):
        a, b = (
            int("".join(str(token - OWN) for token in part)) for part in (inputs[:9], inputs[10:19])
        )
        answer = "".join(str(t - OWN) for t in targets if t not in (IGNORED, END))
        assert answer == str(a + b).zfill(10)


def test_beyond_the_alphabet_a_repeated_sequence_is_scored_where_it_is_told_apart() -> None:
    batch = task_named("induction", symbols=4).examples_at(63, 40, 0)
    assert batch is not None
    unscored = []
    for inputs, targets in zip(batch.inputs, batch.targets, strict=True):
        expected = SOLVERS["induction"](real(inputs))
        assert targets.tolist() == targets_of(expected, len(targets))
        unscored.append(int((targets[32:] == IGNORED).sum()))
    assert 0 < np.mean(unscored) < 16


def test_questions_follow_their_pairs_by_the_power_law() -> None:
    task = task_named("associative_recall", pairs=1)
    batch = task.examples_at(129, 2500, 0)
    assert batch is not None
    places = (np.argmax(batch.targets != IGNORED, axis=1) - 2) // 2 + 1
    rates = np.arange(1, 65) ** -0.99
    expected = 2500 * rates / rates.sum()
    counts = np.bincount(places, minlength=65)[1:65]
    assert abs(counts - expected).max() < 4 * np.sqrt(expected.max())
    assert places.max() > 50


def test_a_passkey_stands_at_every_depth() -> None:
    batch = task_named("passkey").examples_at(21, 600, 0)
    assert batch is not None
    depths = Counter(np.argmax(batch.inputs == OWN + 10, axis=1).tolist())
    assert sorted(depths) == list(range(11))
    assert min(depths.values()) > 25


def test_both_orders_have_equal_bags_of_words_and_different_answers() -> None:
    """What knows the words and not their order is right half the time, however it guesses."""
    batch = task_named("word_order").examples_at(4, 3000, 0)
    assert batch is not None
    answers = defaultdict(Counter)
    for inputs, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        first, verb, second, ask = inputs
        assert ask == ASK
        answers[tuple(sorted(inputs))][targets[-1]] += 1
        assert (first < second) == (targets[-1] == FORWARD)
        assert WORDS[verb - OWN] in VERBS
    assert len(answers) == 4 * 8 * 7 // 2  # a verb and an unordered pair of nouns
    assert all(set(counts) == {FORWARD, BACKWARD} for counts in answers.values())
    best = sum(max(counts.values()) for counts in answers.values()) / 3000
    assert best < 0.65  # what guessing by the bag gets on the very examples it is fitted to


def test_the_dictionary_is_in_order_and_no_word_stands_twice() -> None:
    assert list(NOUNS) == sorted(NOUNS)
    assert len({*NOUNS, *VERBS, *ADVERBS}) == len(WORDS)
