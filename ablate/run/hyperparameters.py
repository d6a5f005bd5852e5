"""A run as the HParams page of TensorBoard wants it: flat settings, result columns, an end.

TensorBoard takes the columns from whichever run it reads first and hides the keys that only other
runs have (tensorboardX#519, pytorch#184078). So every run writes the same keys: what a choice
brings along (`pos.base`, `warmup.steps`) stands together in one column, "pos options".
"""

import time
from typing import TYPE_CHECKING

from ablate.config.values import write
from ablate.judge.labels import LABELS
from ablate.record.record import Record

if TYPE_CHECKING:
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

# Where a run is computed and kept, not what is computed.
NOT_SETTINGS = {"outputs", "device", "threads", "compile", "rerun", "retry"}

# TensorBoard ticks the first five settings; these are the ones that a sweep most often varies.
TICKED = {"pos", "norm", "depth", "lr", "seed"}

FIRST_LOSS = "results/first loss"
EXCESS = "results/first loss minus ln V"
FIRST_RATIO = "results/gradient of first over last block at step 1"
FINAL = "results/final training loss"
ACCURACY = "results/accuracy at {}"
RETENTION = "results/retention at {}"
SPIKES = "results/share of steps that are spikes"
LABEL = "results/label"
VALIDATION = "loss/validation"

# Result columns: the tag whose last value is shown, and its heading.
COLUMNS = {
    FIRST_LOSS: "first loss",
    EXCESS: "first loss - ln V",
    FINAL: "training loss",
    VALIDATION: "validation loss",
    LABEL: "label: " + ", ".join(f"{number} {name}" for number, name in enumerate(LABELS)),
    FIRST_RATIO: "gradient ratio",
    SPIKES: "spikes",
    **{ACCURACY.format(context): f"accuracy {context}" for context in ("L", "2L", "4L", "8L")},
    **{RETENTION.format(context): f"retention {context}" for context in ("2L", "4L", "8L")},
}

STATUS = {
    "done": "STATUS_SUCCESS",
    "diverged": "STATUS_SUCCESS",  # the process did its work; divergence is a result
    "failed": "STATUS_FAILURE",
    "interrupted": "STATUS_UNKNOWN",
    "running": "STATUS_UNKNOWN",  # torn down in the middle
}


def hyperparameters(record: Record) -> dict[str, bool | int | float | str | None]:
    """Flatten a record's choices and plain keys; the keys are the same for every run."""
    config, choices = record.config, record.choices
    flat: dict[str, bool | int | float | str | None] = dict(choices)
    for group in choices:
        flat[f"{group} options"] = _options(config.get(group))
    for key, value in config.items():
        if key not in choices and key not in NOT_SETTINGS and not isinstance(value, dict):
            flat[key] = write(value) if isinstance(value, list) else value
    return flat


def session_start(record: Record) -> list["Summary"]:
    """Build the summaries that declare the columns and give this run's settings."""
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2, summary_v2

    settings = hyperparameters(record)
    experiment = api_pb2.Experiment(
        hparam_infos=[
            api_pb2.HParamInfo(
                name=name,
                # The list is sorted by "differs" and then by name.
                differs=name in TICKED,
                type=api_pb2.DataType.Value(_data_type(value)),
            )
            for name, value in settings.items()
        ],
        metric_infos=[
            api_pb2.MetricInfo(name=api_pb2.MetricName(tag=tag), display_name=heading)
            for tag, heading in COLUMNS.items()
        ],
    )
    columns = _summary(
        metadata.EXPERIMENT_TAG, plugin_data_pb2.HParamsPluginData(experiment=experiment)
    )
    # A setting without a value (no clipping, say) is a blank cell.
    known = {name: value for name, value in settings.items() if value is not None}
    return [columns, summary_v2.hparams_pb(known, trial_id=record.run_id)]


def session_end(status: str) -> "Summary":
    """Build the summary that says how the run ended."""
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

    end = plugin_data_pb2.SessionEndInfo(
        status=api_pb2.Status.Value(STATUS[status]), end_time_secs=time.time()
    )
    data = plugin_data_pb2.HParamsPluginData(session_end_info=end)
    return _summary(metadata.SESSION_END_INFO_TAG, data)


def _summary(tag: str, data: "HParamsPluginData") -> "Summary":
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.hparams import metadata

    described = metadata.create_summary_metadata(data)
    return Summary(value=[Summary.Value(tag=tag, metadata=described, tensor=metadata.NULL_TENSOR)])


def _data_type(value: object) -> str:
    """The kind of column a value belongs to, which decides the filter that is offered."""
    if isinstance(value, bool):
        return "DATA_TYPE_BOOL"
    if isinstance(value, int | float):
        return "DATA_TYPE_FLOAT64"
    return "DATA_TYPE_STRING" if isinstance(value, str) else "DATA_TYPE_UNSET"


def _options(settings: object, prefix: str = "") -> str:
    """What a choice's YAML sets, in one line; the class it names is told by the choice."""
    if not isinstance(settings, dict):
        return ""
    parts = []
    for key, value in settings.items():
        if isinstance(value, dict):
            parts.append(_options(value, f"{prefix}{key}."))
        elif key != "_target_":
            parts.append(f"{prefix}{key}={write(value)}")
    return " ".join(filter(None, parts))
