"""Gradient norms by block against autograd by hand."""

import pytest
import torch
from torch import Tensor, nn

from ablate.train.instruments import GradientNorms, norm_of


class Scale(nn.Module):
    def __init__(self, value: float) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([value]))

    def forward(self, x: Tensor) -> Tensor:
        return self.w * x


class Twin(nn.Module):
    """A block whose state is two streams."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0]))

    def forward(self, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        a, b = state
        return self.w * a, self.w * b


def chain() -> tuple[nn.ModuleList, GradientNorms]:
    blocks = nn.ModuleList([Scale(2.0), Scale(3.0)])
    return blocks, GradientNorms(blocks)


def test_norms_of_a_chain_by_hand() -> None:
    blocks, norms = chain()
    x = torch.tensor([1.0, -1.0], requires_grad=True)
    blocks[1](blocks[0](x)).pow(2).sum().backward()
    # y = 6x, loss = Σy²: dL/dx_1 = 72x, dL/dx_2 = 6·(2·6x)/2 ... at x_2 = 2x: 2·9·x_2 = 36x.
    assert norms.inputs() == pytest.approx([72 * 2**0.5, 36 * 2**0.5])
    # dL/dw_1 = Σ 2·9·w_1·x² = 72, dL/dw_2 = Σ 2·w_2·(2x)² = 48.
    assert norms.parameters() == pytest.approx([72.0, 48.0])


def test_the_norm_at_an_input_is_of_this_pass_alone() -> None:
    blocks, norms = chain()
    for _ in range(3):
        x = torch.tensor([1.0, -1.0], requires_grad=True)
        blocks[1](blocks[0](x)).pow(2).sum().backward()
    assert norms.inputs() == pytest.approx([72 * 2**0.5, 36 * 2**0.5])


def test_several_streams_count_as_one_vector() -> None:
    block = Twin()
    norms = GradientNorms([block])
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    y, z = block((a, b))
    (3 * y + 4 * z).sum().backward()
    assert norms.inputs() == pytest.approx([5.0])


def test_streams_that_start_as_one_tensor_count_once() -> None:
    block = Twin()
    norms = GradientNorms([block])
    x = torch.ones(1, requires_grad=True)
    y, z = block((x, x))
    (3 * y + 4 * z).sum().backward()
    assert norms.inputs() == pytest.approx([7.0])


def test_a_block_without_gradient_reads_zero() -> None:
    blocks, norms = chain()
    blocks[0](torch.ones(2)).sum().backward()
    assert norms.parameters() == pytest.approx([2.0, 0.0])
    assert norms.inputs() == [0.0, 0.0]


def test_switched_off_or_detached_it_costs_and_changes_nothing() -> None:
    blocks, norms = chain()
    norms.active = False
    x = torch.ones(2, requires_grad=True)
    blocks[1](blocks[0](x)).sum().backward()
    assert norms.inputs() == [0.0, 0.0]
    norms.detach()
    assert not any(block._forward_pre_hooks for block in blocks)


def test_a_norm_is_over_all_tensors() -> None:
    assert norm_of([torch.tensor([3.0]), torch.tensor([[4.0]])]).item() == 5.0
    assert norm_of([]).item() == 0.0
