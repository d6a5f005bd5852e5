"""Every number that a judgement rests on, with its unit and where it comes from.

`ablate check`, labels, diagnosis, evaluation and report all judge by these, so that the same
numbers get the same word everywhere. What has no source is a choice of ours.
"""

MARGIN = 0.02
"""Nats, or accuracy as a share: a difference below it counts as none."""

# The first loss, in nats against ln V.

HIGH_FIRST_LOSS = 0.5
"""Above ln V. Logits of standard deviation s cost s²/2; untrained ones of 0.6 cost 0.18."""
LOW_FIRST_LOSS = 0.1
"""Below ln V: a model that has learned nothing cannot get there unless it sees its targets."""
UNTRAINED_SPREAD = 0.6
"""Standard deviation over the vocabulary of an untrained model's logits."""

# The stack before anything is learned.

STEEP = 100.0
"""Ratio of gradient norms between the ends of the stack."""
EVEN = 10.0
"""Ratio of gradient norms between the ends of the stack within which they count as even."""
GROWTH = 3.0
"""Factor from the first block to the last by which an exponential growth shows."""
FEWEST_GROWING = 4
"""Blocks from which on a growth by a factor a block can be told from one along a line."""
ALIKE = 0.999
"""Mean cosine between two tokens of a sequence from which on they are one."""
DEEP = 12
"""Blocks from which on a norm on the skip path asks for warmup."""
WASHED_OUT = 0.4
"""Cosine between the stream's start and end below which norms on the skip path have renewed it."""

# Training.

LARGEST_LOSS = 1e6
"""Nats; larger losses are counted as this, so that running sums keep their precision."""
ABOVE_UNIFORM = 0.5
"""Nats above ln V at the end that count as diverged."""
ABOVE_BEST = 1.0
"""Nats above the lowest smoothed loss at the end that count as diverged."""
BELOW_UNIGRAM = 0.05
"""Nats below the unigram loss that count as having learned more than frequencies."""
FAR_ABOVE_UNIGRAM = 0.2
"""Nats above the unigram loss at which not even frequencies are learned."""
EXEMPT_STEPS = 50
"""Steps that an inflated first loss has to come down."""
SPIKE_SIGMAS = 7.0
"""Standard deviations above the trailing mean (Takase et al. 2023, arXiv 2312.16903)."""
SPIKE_SHARE = 0.01
"""Share of the steps that must be spikes for a training to be unstable."""
SPIKE_WINDOW = 20
"""Steps of the trailing mean and standard deviation that a spike stands out from."""
SPIKE_MINIMUM = 10
"""Steps; fewer say nothing about the noise."""
SIGMA_FLOOR = 0.01
"""Nats. Without a floor a noiseless curve (sigma = 0) would call any rise a spike."""
ONE_WRONG = 0.3
"""Nats: spread of a nearly solved target's loss, of which few are wrong."""

# A trained model.

IDLE = 0.99
"""Mean cosine of a token before and after a block that does nothing."""
FEWEST_IDLE = 8
"""Blocks; a shorter stack has no late ones to speak of."""
SHARP_LOGIT = 50.0
"""Largest attention logit."""
GROWN = 2.0
"""Factor over the first step's, so that it is training that made a logit large."""
EVALUATION_GAP = 0.5
"""Nats between validation and training at the end."""
FADED = 0.9
"""Retention of the gain over guessing, below which a context beyond the train length is lost."""
CLIFF = 0.25
"""Nats between the positions just within the train length and those just beyond."""
