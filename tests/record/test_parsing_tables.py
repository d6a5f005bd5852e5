"""A list of a record that stands along another has as many values, or none that are believed."""

import pytest

from ablate.record.evaluated import Extrapolation
from ablate.record.parsing import parse


@pytest.mark.parametrize("accuracy", [[], [0.5], [0.5, 0.4, 0.3, 0.2], "none", None])
def test_a_column_of_another_length_is_empty_and_named(accuracy: object) -> None:
    content = {"lengths": [16, 32, 64], "accuracy": accuracy, "nll": [1.0, 2.0, None]}
    table, misfits = parse(Extrapolation, content)
    assert table.accuracy == [None, None, None]
    assert table.nll == [1.0, 2.0, None]
    assert table.retention == [None, None, None]
    assert table.exact == []
    assert len(misfits) == bool(accuracy)


def test_without_its_lengths_a_table_has_no_values() -> None:
    content = {"nll": [1.0, 2.0], "protocols": {"sliding": {"lengths": [16], "targets": [1, 2]}}}
    table, misfits = parse(Extrapolation, content)
    assert table.protocols is not None
    assert (table.nll, table.protocols["sliding"].targets) == ([], [None])
    assert misfits == [
        "`protocols.sliding.targets` has 2 values, where `lengths` has 1",
        "`nll` has 2 values, where `lengths` has 0",
    ]
