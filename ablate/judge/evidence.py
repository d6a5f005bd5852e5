"""The numbers of a finding in words: the one place where they are made."""

from collections.abc import Callable, Mapping

from ablate.judge.thresholds import SPIKE_SIGMAS

Number = float | str
"""A measured number, or a word such as a label."""


def retained(retention: float, context: float) -> str:
    """Retention past the train length.

    >>> retained(0.278, 512)
    'keeps 28 % of its gain in accuracy over unigram at 512 tokens'
    """
    share = f"{100 * retention:.0f} %" if retention > 0 else "nothing"
    return f"keeps {share} of its gain in accuracy over unigram at {context} tokens"


def spiked(share: float, largest: float) -> str:
    """How many steps are spikes, and how high the largest is in sigma."""
    return (
        f"{100 * share:.2g} % of steps more than {SPIKE_SIGMAS:.0f} sigma above the trend, "
        f"the largest {largest:.0f}"
    )


PHRASES: dict[tuple[str, ...], Callable[..., str]] = {
    ("first_loss_excess",): "first loss - ln V = {:+.2f} nats".format,
    (
        "logit_spread",
        "half_variance",
    ): "logits of standard deviation {:.3g}, half their variance {:.2f}".format,
    ("logit_spread",): "logits of standard deviation {:.3g}".format,
    ("token_cosine",): "mean cosine between tokens {:.3f} after the last block".format,
    (
        "gradient_parameters",
    ): "gradient of the first block's parameters {:.1e} of that of the last's".format,
    (
        "gradient_inputs",
    ): "gradient at the second block's input {:.1e} of that at the last's".format,
    (
        "stream_first",
        "stream_last",
        "stream_factor",
    ): "rms of the stream {:.3g} to {:.3g}, x{:.2f} a block".format,
    ("shuffle_change", "shuffle_low", "shuffle_high"): (
        "loss changes by {:+.3f} [{:+.3f}, {:+.3f}] nats when the input is shuffled".format
    ),
    ("train_length",): "no accuracy beyond {} tokens".format,
    ("retention", "context"): retained,
    ("jump",): "{:+.2f} nats between the positions before and after L".format,
    ("label",): "label {}".format,
    (
        "above_unigram",
    ): "validation loss {:+.3f} nats against frequencies on the same targets".format,
    ("right_examples",): "{:.3f} of the examples right as a whole".format,
    ("final", "unigram_train"): (
        "training loss {:.3f} nats at the end, unigram of the training text {:.3f}".format
    ),
    ("spike_share", "spike_max"): spiked,
    (
        "late_cosine",
    ): "cosine of a token before and after a block {:.4f} or more in the last quarter".format,
    (
        "attention_max",
        "attention_max_first",
    ): "largest attention logit {:.0f}, {:.2g} at first".format,
    ("attention_max",): "largest attention logit {:.0f}".format,
    ("validation", "training"): "validation loss {:.3f}, training loss {:.3f} nats".format,
}
"""Names of numbers and the phrase for them; a longer list of names comes before its part."""


def in_words(numbers: Mapping[str, Number]) -> str:
    """The numbers in phrases; one without a phrase of its own with its name.

    >>> in_words({"attention_max": 80.0, "attention_max_first": 4.0})
    'largest attention logit 80, 4 at first'
    >>> in_words({"kurtosis": 31.5, "label": "stuck"})
    'label stuck; kurtosis 31.5'
    """
    left = dict(numbers)
    phrases = []
    for names, phrase in PHRASES.items():
        if all(name in left for name in names):
            phrases.append(phrase(*(left.pop(name) for name in names)))
    rest = (
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in left.items()
    )
    return "; ".join([*phrases, *rest])
