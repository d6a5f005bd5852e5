"""How several processes hold a model: torch's DDP and FSDP2.

Apart from what a run by one process imports, since torch takes a second to load them.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from ablate.train.distributed import Spread, Whole
from ablate.train.optimizers import Together


class Replicated(Whole):
    """Each process has all, and its rows of the batch (torch's DistributedDataParallel)."""

    def forward(self, model: nn.Module) -> nn.Module:
        # A scheme may have a part that a pass does not use, and whose gradient nobody waits for.
        whole = DistributedDataParallel(model, find_unused_parameters=True)
        whole.register_comm_hook(None, summed)
        return whole

    def passing(self, forward: nn.Module, *, last: bool) -> AbstractContextManager[None]:
        assert isinstance(forward, DistributedDataParallel)
        return nullcontext() if last else forward.no_sync()


def summed(state: None, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
    """The sum of a bucket of gradients over all processes, as DDP's communication hook."""
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


class Sharded(Spread):
    """Each process has a share of every parameter, gradient and optimiser state (torch's FSDP2).

    A block's parameters come together for its passes and part again. Checkpoints are whole, as of
    one process.
    """

    sharded = True

    def __init__(self, device: torch.device) -> None:
        self.mesh = init_device_mesh(device.type, (dist.get_world_size(),))

    def shard(self, model: nn.Module) -> None:
        blocks = model.get_submodule("blocks").children()
        for module in (*blocks, model):
            shards = fully_shard(module, mesh=self.mesh)
            shards.set_gradient_divide_factor(1.0)
            shards.set_force_sum_reduction_for_comms(True)

    def forward(self, model: nn.Module) -> nn.Module:
        return model

    @contextmanager
    def passing(self, forward: nn.Module, *, last: bool) -> Iterator[None]:
        assert isinstance(forward, FSDPModule)
        forward.set_requires_gradient_sync(last)
        yield

    @contextmanager
    def evaluating(self, model: nn.Module) -> Iterator[None]:
        assert isinstance(model, FSDPModule)
        with torch.no_grad():
            yield
        # After a pass the outermost parameters stay together for a backward pass. None comes, and
        # the next step would train with what was put together where no gradient is recorded.
        model.reshard()

    def gather(self, state: Any) -> Any:
        if isinstance(state, DTensor):
            return state.full_tensor().cpu()
        if isinstance(state, dict):
            return {key: self.gather(value) for key, value in state.items()}
        if isinstance(state, list):
            return [self.gather(value) for value in state]
        return state

    def load(self, model: nn.Module, optimizer: torch.optim.Optimizer, state: Any) -> None:
        own = model.state_dict()
        model.load_state_dict({name: share(v, own[name]) for name, v in state["model"].items()})
        optimizer.load_state_dict(moments(state["optimizer"], optimizer))


def moments(state: dict[str, Any], optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """This process's share of an optimiser's whole state."""
    if isinstance(optimizer, Together):
        pairs = zip(state["members"], optimizer.members, strict=True)
        return {"members": [moments(part, member) for part, member in pairs]}
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    shares = {
        index: {name: share(value, parameters[index]) for name, value in kept.items()}
        for index, kept in state["state"].items()
    }
    return {**state, "state": shares}


def share(whole: Tensor, like: Tensor) -> Tensor:
    """This process's share of a tensor that is spread as `like` is; other tensors as they are."""
    if not isinstance(like, DTensor) or whole.shape != like.shape:
        return whole
    return distribute_tensor(whole.to(like.device), like.device_mesh, like.placements)
