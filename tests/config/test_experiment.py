"""An experiment file is what it sets, and the command line has the last word."""

import pytest

from ablate.config.catalogue import Catalogue
from ablate.config.compose import Composer
from ablate.config.values import write

COMPOSER = Composer()


def name(*overrides: str) -> str:
    (job,) = COMPOSER.jobs(overrides, sweep=False)
    with COMPOSER.session():
        return COMPOSER.one(job)[1].name


@pytest.mark.parametrize("experiment", Catalogue().names("experiment"))
def test_an_experiment_is_what_it_sets(experiment: str) -> None:
    choice = Catalogue().choice("experiment", experiment)
    assert choice is not None
    assert choice.options
    by_hand = [f"{key}={write(value)}" for key, value in choice.options.items()]
    assert name(f"experiment={experiment}") == name(*by_hand)


def test_the_command_line_has_the_last_word() -> None:
    assert name("experiment=deep_post", "norm=pre", "depth=3") == name(
        "norm=pre", "depth=3", "pos=learned", "heads=2", "batch_size=8", "steps=150"
    )
