"""What is special to a scheme or a wiring is stated by its class, and a diagnosis goes by that."""

import pytest
import yaml

from ablate.build import facts
from ablate.config.catalogue import Catalogue
from ablate.judge.diagnosis import diagnose
from ablate.model.position.base import PositionScheme
from ablate.model.position.rotary import Rope
from ablate.model.shape import Shape
from ablate.record.record import Record
from tests.judge.test_diagnosis import changed

SHAPE = Shape(width=32, depth=2, heads=2, seq_len=16, vocabulary=64)
SHIPPED = {
    ("pos", "fading"): {"alibi", "kerple_log", "kerple_power", "forgetting", "xpos", "t5"},
    ("pos", "scalable"): {"rope", "rope_dynamic_ntk"},
    ("pos", "rotary"): {
        *("rope", "rope_partial", "p_rope", "rope_linear", "rope_ntk", "rope_dynamic_ntk"),
        *("yarn", "xpos"),
    },
    ("pos", "drawn"): {"randomized"},
    ("pos", "absent"): {"none"},
    ("norm", "post-norm"): {"post"},
    ("norm", "absent"): {"none"},
    ("norm_layer", "batch statistics"): {"batchnorm", "masked_batchnorm"},
    ("residual", "gated"): {"rezero", "skipinit", "layerscale"},
    ("residual", "absent"): {"off"},
    ("warmup", "absent"): {"none"},
    ("task", "retrieval"): {"passkey", "associative_recall", "induction"},
}


def stated(group: str, target: str, position: PositionScheme | None = None) -> list[str]:
    config = {group: {"_target_": target}}
    return facts(config, position or PositionScheme(SHAPE)).get(group, [])


@pytest.mark.parametrize("group", sorted({group for group, _ in SHIPPED}))
def test_shipped_choices_state_what_they_are(group: str) -> None:
    catalogue = Catalogue()
    by_fact: dict[str, set[str]] = {}
    for name in catalogue.names(group):
        path = catalogue.path(group, name)
        assert path is not None
        for fact in stated(group, yaml.safe_load(path.read_text(encoding="utf-8"))["_target_"]):
            by_fact.setdefault(fact, set()).add(name)
    assert by_fact == {fact: names for (of, fact), names in SHIPPED.items() if of == group}


def test_a_scheme_says_whether_it_is_relative_once_it_is_built() -> None:
    target = "ablate.model.position.rotary.Rope"
    assert stated("pos", target, Rope(SHAPE)) == ["relative", "rotary", "scalable"]


class Fades(PositionScheme):
    """A scheme of a user's own, whose name says nothing."""

    facts = frozenset({"fading"})


def made_up_record(words: dict[str, list[str]]) -> Record:
    return changed(
        {
            "facts": words | {"task": ["retrieval"]},
            "extrapolation.protocol": "exact-match",
            "extrapolation.retention": [1.0, 0.9, 0.1],
        }
    )


def test_a_users_own_scheme_is_diagnosed_by_what_it_states() -> None:
    own = stated("pos", "tests.judge.test_facts.Fades")
    assert own == ["fading"]
    (finding,) = diagnose(made_up_record({"pos": own}))
    assert finding.name == "far retrieval fails"
    (finding,) = diagnose(made_up_record({"pos": []}))
    assert finding.name == "trained lengths alone"


def test_a_choice_that_is_no_class_of_ours_states_nothing() -> None:
    assert stated("norm_layer", "torch.nn.LayerNorm") == []
    assert stated("task", "ablate.data.tasks.cut") == []


def test_a_record_of_before_facts_is_not_judged_by_names() -> None:
    (finding,) = diagnose(changed({"facts": None, "label": "stuck", "loss.final": 3.2}))
    assert "post-norm" not in finding.cause
