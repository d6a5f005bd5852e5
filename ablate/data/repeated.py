"""Which validation texts stand in training too: whole, or most of their long lines."""

import hashlib
from dataclasses import dataclass

from ablate.data.documents import Part

LONG = 50
"""Characters of a line from which on it is no phrase that anybody may write again."""
MOST = 0.8
"""The share of a text's long lines, by characters, above which it counts as repeated."""
WARNED = 0.25
"""The share of validation text from which on its loss tells of what was learned by heart."""
LINES = 1 << 20
"""LineHashes of training held at once, about 100 MB; of more, an even sample by their hashes."""


@dataclass(frozen=True)
class Repeated:
    """How many of the validation `texts` stand in training too, and how much of its text that is.

    `share` is of the characters in long lines.
    """

    texts: int
    repeated: int
    share: float

    def warning(self) -> str:
        """What to say where it is too much; empty where it is not."""
        if self.share < WARNED:
            return ""
        return (
            f"{self.repeated:,} of {self.texts:,} validation texts ({self.share:.0%} of it) stand "
            "in training too, whole or nearly: the validation loss is in part that of training; "
            "take each text once"
        )


class LineHashes:
    """Counts repeated texts over a stream of both splits, of which it remembers hashes of lines."""

    def __init__(self, most: int = LINES) -> None:
        self._most, self._kept = most, 1  # one in `_kept` hashes is remembered
        self._train: set[int] = set()
        self._texts: list[dict[int, int]] = []  # hash of a line → its characters, by text
        self._short: dict[str, list[str]] = {"train": [], "validation": []}

    def feed(self, part: Part) -> None:
        """Take in the next stretch of a document."""
        if part.first:
            self._end(part.split)
            if part.split == "validation":
                self._texts.append({})
        for line in part.text.splitlines():
            if len(line := line.strip()) >= LONG:
                self._add(part.split, line)
            elif line and len(short := self._short[part.split]) < LONG:
                short.append(line)

    def _end(self, split: str) -> None:
        """A document ends: one without a long line counts by how it begins."""
        begins = " ".join(self._short[split])
        self._short[split] = []
        if split == "train" or (self._texts and not self._texts[-1]):
            self._add(split, begins)

    def _add(self, split: str, line: str) -> None:
        digest = hashlib.blake2b(line.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        number = int.from_bytes(digest)
        if number % self._kept or not line:
            return
        if split == "validation":
            self._texts[-1][number] = len(line)
            return
        self._train.add(number)
        if len(self._train) > self._most:
            self._kept *= 2
            self._train = {each for each in self._train if not each % self._kept}
            for text in self._texts:
                for each in [each for each in text if each % self._kept]:
                    del text[each]

    def repeated(self) -> Repeated:
        """What was found once the stream has ended."""
        self._end("train")
        self._end("validation")
        sizes = [(self._shared(text), sum(text.values())) for text in self._texts]
        total = sum(size for _, size in sizes)
        again = [size for shared, size in sizes if shared > MOST * size]
        return Repeated(len(self._texts), len(again), sum(again) / total if total else 0.0)

    def _shared(self, text: dict[int, int]) -> int:
        return sum(length for number, length in text.items() if number in self._train)
