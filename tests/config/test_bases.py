"""Setting single values on a kept base gives what Hydra composes anew."""

from typing import Any

from hydra import compose
from hydra.errors import HydraException
from hypothesis import example, given, settings
from hypothesis import strategies as st
from omegaconf.errors import OmegaConfBaseException

from ablate.config.compose import Composer
from ablate.config.identity import identify
from ablate.config.schema import check_ranges, plain, unresolved
from ablate.errors import UserError

CHOICES = {
    "pos": ["none", "rope", "yarn", "randomized", "deberta"],
    "norm": ["pre", "post", "mix_ln"],
    "warmup": ["none", "linear"],
    "corpus": ["stdlib", "docs", "wikitext2"],
    "size": ["null", "tiny", "deep"],
    "init": ["gpt2", "nowhere"],
    "experiment": ["deep_post", "llama_style"],
    "pos@pos.inner": ["alibi"],
    "hydra.verbose": ["true"],
    "hydra": ["3"],
}
VALUES = {
    "depth": ["3", "'4'", "5.0", "abc", "null", "${heads}", "[1]"],
    "lr": ["1e-3", "2", "nan", "true"],
    "clip": ["null", "1", "${lr}"],
    "tied": ["true", "yes", "2"],
    "study": ["a b", "1", "${seed}", "${nowhere}", "${hydra.job.name}"],
    "seed": ["0", "7"],
    "evaluate.lengths": ["[0.5,1]", "[a]", "3"],
    "evaluate": ["{every: 3}", "{evry: 3}", "3"],
    "norm.final": ["true", "maybe"],
    "pos.base": ["100", "1e5", "x"],
    "pos.inner.base": ["50"],
    "pos": ["{base: 3}"],
    "warmup.steps": ["5", "${steps}"],
    "corpus.tokenizer": ["bpe"],
}
overrides = st.lists(
    st.sampled_from([f"{k}={v}" for k, values in {**CHOICES, **VALUES}.items() for v in values]),
    max_size=4,
    unique_by=lambda text: text.partition("=")[0],
)
COMPOSER = Composer()


def by_hydra(job: list[str]) -> object:
    """Config, names and settings as Hydra alone makes them, or the words for its error."""
    with COMPOSER.session():
        try:
            whole = compose("run", job, return_hydra_config=True)
            config = plain(whole)
            check_ranges(config)
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            return COMPOSER.mistakes.explain(error, job)
        except UserError as error:
            return str(error)
        return list(config.items()), identify(whole, config), told(unresolved(whole.hydra))


def by_base(job: list[str]) -> object:
    with COMPOSER.session():
        try:
            composition = COMPOSER.whole(job, of_many=True)
        except UserError as error:
            return str(error)
    settings = told(composition.files["hydra"]["hydra"])
    return list(composition.config.items()), composition.identity, settings


def told(hydra: dict[str, Any]) -> object:
    """What Hydra notes of the overrides and choices of a run."""
    choices = list(hydra["runtime"]["choices"].items())
    return choices, hydra["overrides"], hydra["job"]["override_dirname"], hydra["verbose"]


@given(job=overrides)
@example(job=["pos=none", "norm=post", "warmup=linear", "depth=3"])  # bases put together
@settings(max_examples=20, deadline=None, derandomize=True)
def test_a_base_with_values_is_what_hydra_composes(job: list[str]) -> None:
    # As text, since nan is not equal to itself.
    assert repr(by_base(job)) == repr(by_hydra(job))
