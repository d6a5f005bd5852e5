"""Sentences whose words are the same and whose order is not."""

import numpy as np

from ablate.data.generated.generated_task import OWN, Example, ExampleLayout, GeneratedTask, asked

NOUNS = ("baker", "cat", "dog", "goat", "horse", "king", "man", "wolf")
VERBS = ("bites", "chases", "sees", "washes")
ADVERBS = ("now", "often", "softly", "there", "today", "well", "yesterday", "again")
WORDS = (*NOUNS, *VERBS, *ADVERBS)
FORWARD, BACKWARD = OWN + len(WORDS), OWN + len(WORDS) + 1
"""The answers: the noun that comes first in the dictionary stands first, or second."""


class WordOrder(GeneratedTask):
    """Who bites whom? noun .. verb .. noun in a text of n words ? forward or backward.

    Two different nouns and a verb between them stand at random places, all other words are
    adverbs. "dog bites man" is forward, since dog comes before man in the dictionary, and "man
    bites dog" backward: the same words, so that a bag of words gets ½, as Sinha et al. 2021 (arXiv
    2104.06644) ask of language models.
    """

    name = "word_order"

    def __init__(self, **sizes: int) -> None:
        super().__init__(
            layout=ExampleLayout(fixed=1, each=1, smallest=3),
            words=len(WORDS) + 2,
            options={},
            **sizes,
        )

    def example(self, size: int, random: np.random.Generator) -> Example:
        words = OWN + len(NOUNS) + len(VERBS) + random.integers(0, len(ADVERBS), size)
        first, verb, second = np.sort(random.choice(size, 3, replace=False))
        nouns = random.choice(len(NOUNS), 2, replace=False)
        words[[first, second]] = OWN + nouns
        words[verb] = OWN + len(NOUNS) + random.integers(0, len(VERBS))
        answer = FORWARD if nouns[0] < nouns[1] else BACKWARD
        return asked(words, np.array([answer]), end=False)
