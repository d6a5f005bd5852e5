"""A mistake in an override, told in one or two lines with what is allowed."""

import re
from collections.abc import Sequence

from ablate.config.catalogue import COMPONENTS, Catalogue, nearest
from ablate.config.schema import flatten
from ablate.config.values import brief

TYPE_WORDS = {
    "Integer": "a whole number",
    "Float": "a number",
    "Boolean": "true or false",
    "String": "a word",
}

EXTRAS = (
    "pip install 'ablate[slurm]' brings submitit_slurm and submitit_local, 'ablate[ray]' brings ray"
    " and what ray_cluster needs"
)


class Mistakes:
    """Words for the mistakes that can be made with the keys and choices of a catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue

    def known_keys(self) -> list[str]:
        """Every key and group."""
        defaults = self.catalogue.defaults()
        return [*self.catalogue.groups(), *defaults, *flatten(defaults)]

    def suggest(self, key: str) -> str:
        """' Did you mean ...?' for an unknown key."""
        options = [
            f"{group}.{option}"
            for group in COMPONENTS
            for name in self.catalogue.names(group)
            if (choice := self.catalogue.choice(group, name))
            for option in choice.options
        ]
        leaves = [k for k in [*self.known_keys(), *options] if k.endswith(f".{key}")]
        close = nearest(key, [*self.known_keys(), *options])
        return close or (
            f" Did you mean {leaves[0]}?" if leaves else " `ablate run --help` lists them."
        )

    def explain(self, error: Exception, job: Sequence[str]) -> str:
        """One or two lines for what Hydra or OmegaConf says."""
        causes = [error, error.__cause__, error.__context__]
        text = "\n".join(str(cause) for cause in causes if cause)
        if match := re.search(r"Could not find 'hydra/launcher/(\w+)'", text):
            return f"hydra/launcher={match[1]}: there is no such launcher. {EXTRAS}"
        key_match = re.search(r"full_key: (\S+)", text) or re.search(
            r"override '?([\w.@/]+)'?", text
        )
        key = key_match[1] if key_match else ""
        typed = next((o for o in job if o.lstrip("+").split("=")[0] == key), key)
        typed = re.sub(r"\\([{}:])", r"\1", typed)  # of a reference
        if match := re.search(r"could not be converted to (\w+)", text):
            return f"{typed}: must be {TYPE_WORDS.get(match[1], match[1])}"
        if "is not a valid bool" in text:
            return f"{typed}: must be true or false"
        if "to ListConfig" in text or "Invalid value assigned" in text:
            return f"{typed}: must be a list, for example [0.5,1,2]"
        if "is not Optional" in text:
            return f"{typed}: null is not allowed here"
        if "not in struct" in text or "not in '" in text:
            return self._unknown_option(key, job)
        first = text.strip().split("\n")[0]
        return f"{typed}: {first}" if typed and typed not in first else first

    def _unknown_option(self, key: str, job: Sequence[str]) -> str:
        """What to say of an option that the chosen file of its group lacks."""
        group, _, option = key.partition(".")
        chosen = next(
            (o.split("=", 1)[1] for o in reversed(job) if o.split("=")[0] == group),
            self.catalogue.default_choices().get(group),
        )
        choice = self.catalogue.choice(group, str(chosen))
        if choice is None:
            return f"{key}: there is no such key.{self.suggest(key)}"
        owners = [
            f"{group}={name}"
            for name in self.catalogue.names(group)
            if (other := self.catalogue.choice(group, name)) and option in other.options
        ]
        elsewhere = f" It is an option of {', '.join(owners)}." if owners else ""
        if not choice.options:
            return f"{key}: {group}={chosen} has no options.{elsewhere}"
        options = ", ".join(f"{group}.{k}={brief(v)}" for k, v in choice.options.items())
        return (
            f"{key}: {group}={chosen} has no option {option}; it has {options}."
            f"{elsewhere or nearest(option, choice.options)}"
        )
