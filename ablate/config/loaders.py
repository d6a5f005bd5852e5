"""YAML files as the command line would read them: `010`, `on` and `1e3` mean the same in both."""

import math
from datetime import date
from typing import Any

import yaml

from ablate.config.values import plain_value


class KeysOnce(yaml.constructor.BaseConstructor):
    """Refuses a key given twice, of which YAML keeps the last without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping; raises yaml.YAMLError."""
        seen: list[Any] = []
        for key, _ in node.value:
            if key.value in seen:
                line = key.start_mark.line + 1
                raise yaml.YAMLError(f"{key.value} is given twice, again in line {line}")
            seen.append(key.value)
        return super().construct_mapping(node, deep)


class TextLoader(KeysOnce, yaml.BaseLoader):
    """Every value as the text that it is in the file, to be read as a word of a command line."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node; raises yaml.YAMLError for an alias, which can hold itself."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.YAMLError(
                f"*{event.anchor} in line {event.start_mark.line + 1}: write the value itself"
            )
        return super().compose_node(parent, index)


class ValueLoader(KeysOnce, yaml.SafeLoader):
    """Values as YAML reads them, where the command line would read them so too."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """A value; raises yaml.YAMLError for one that would be another as typed."""
        usual = super().construct_object(node, deep)
        if not isinstance(node, yaml.ScalarNode) or node.style is not None or not node.value:
            return usual
        typed = plain_value(node.value)
        # OmegaConf, which composes, reads 1e3 as a number and a date as text.
        alike = type(usual) is type(typed) and usual == typed
        number = isinstance(typed, float) and isinstance(usual, str) and math.isfinite(typed)
        if alike or number or isinstance(usual, date):
            return typed
        raise yaml.YAMLError(
            f"{node.value} in line {node.start_mark.line + 1}: YAML makes {usual!r} of it and the "
            f"command line {typed!r}; write which is meant, a text in quotes"
        )
