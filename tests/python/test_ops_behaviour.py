"""How the operators behave inside PyTorch: autocast, in-place versions, refusals, empty tensors, threads, fork and
spawn, and what the typed functions say about wrong arguments."""
from __future__ import annotations

import threading

import pytest
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch.utils.data import DataLoader, Dataset

from ingot import ops
from op_samples import attention_inputs, normal, paged, positive_definite

# ---- autocast ----------------------------------------------------------------------


@pytest.mark.parametrize("call", [
    lambda: ops.matmul(normal(3, 4), normal(4, 5, dtype=torch.bfloat16), normal(5)),
    lambda: ops.linear(normal(3, 4), normal(5, 4), activation="silu"),
    lambda: ops.attention(*attention_inputs(torch.float32), mask=normal(5, 7, dtype=torch.float16)),
    lambda: ops.rope(normal(1, 2, 3, 4)),
    lambda: ops.quantised_linear(normal(3, 64), ops.quantise(normal(6, 64))),
], ids=["matmul", "linear", "attention", "rope", "quantised_linear"])
def test_autocast_lowers_products(call):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert call().dtype == torch.bfloat16
        with torch.autocast("cpu", enabled=False):
            assert ops.matmul(normal(3, 4), normal(4, 5)).dtype == torch.float32


@pytest.mark.parametrize("call", [
    lambda x: ops.rms_norm(x, normal(8)),
    lambda x: ops.layer_norm(x, normal(8, dtype=torch.bfloat16), normal(8)),
    lambda x: ops.add_rms_norm(x, normal(8, 8))[0],
    lambda x: ops.softmax(x, normal(8, 8, dtype=torch.bfloat16)),
    lambda x: ops.cross_entropy(x, torch.arange(8)),
    lambda x: ops.qr(x).Q,
    lambda x: ops.solve(x, normal(8, 2)),
], ids=["rms_norm", "layer_norm", "add_rms_norm", "softmax", "cross_entropy", "qr", "solve"])
def test_autocast_raises_norms_losses_and_decompositions(call):
    x = positive_definite(8, 8, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert call(x).dtype == torch.float32


def test_autocast_makes_gate_and_up_agree_and_leaves_the_cache_alone():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ops.silu_mul(normal(3, 4, dtype=torch.bfloat16), normal(3, 4)).dtype == torch.float32
        assert ops.attention_paged(*paged(torch.float32)).dtype == torch.float32


def test_autocast_passes_gradients_back_in_the_type_of_the_parameter():
    weight = normal(5, 4).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = ops.linear(normal(3, 4), weight).float().sum()
    loss.backward()
    assert weight.grad.dtype == torch.float32 and bool(weight.grad.abs().sum() > 0)


# ---- operators that change their arguments -------------------------------------------


def test_in_place_operators_count_versions():
    x = torch.zeros(4)
    before = x._version
    ops.fill_(x, 2.0)
    ops.axpy_(x, torch.ones(4), 0.5)
    assert x._version == before + 2 and torch.equal(x, torch.full((4,), 2.5))


def test_autograd_sees_a_saved_tensor_that_was_filled():
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    with torch.no_grad():
        ops.fill_(y, 0.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_in_place_operators_refuse_tensors_that_require_a_gradient():
    x = torch.zeros(4, requires_grad=True)
    with pytest.raises(RuntimeError, match="fill_ changes its arguments.*torch.no_grad"):
        ops.fill_(x, 1.0)
    with torch.no_grad():
        ops.fill_(x, 1.0)
    assert torch.equal(x.detach(), torch.ones(4))


def test_paged_cache_round_trip():
    key_cache, value_cache = torch.zeros(4, 2, 4, 8), torch.zeros(4, 2, 4, 8)
    keys, values = normal(6, 2, 8), normal(6, 2, 8, seed=1)
    slots = torch.tensor([8, 9, 10, 11, 0, 1])  # positions 0-3 in block 2, 4-5 in block 0
    ops.cache_write_(keys, values, slots, key_cache, value_cache)
    ops.cache_copy_(key_cache, value_cache, torch.tensor([[2, 3]]))
    q = normal(1, 4, 1, 8, seed=2)
    found = ops.attention_paged(q, key_cache, value_cache, torch.tensor([[3, 0]], dtype=torch.int32),
                                torch.tensor([6], dtype=torch.int32))
    k, v = keys.transpose(0, 1).unsqueeze(0), values.transpose(0, 1).unsqueeze(0)
    torch.testing.assert_close(found, ops.attention(q, k, v), rtol=1e-5, atol=1e-5)


# ---- quantised weights -----------------------------------------------------------------


@pytest.mark.parametrize("bits,tolerance", [(4, 0.2), (8, 0.012)])
@pytest.mark.parametrize("biases", [False, True])
def test_quantised_weights(bits: int, tolerance: float, biases: bool):
    weight = normal(16, 128)
    quantised = ops.quantise(weight, bits, 32, biases=biases)
    assert quantised.shape == (16, 128) and (quantised.biases is not None) == biases
    restored = quantised.dequantise()
    assert (restored - weight).abs().max() < 2 * tolerance
    for rows in [(), (1,), (3,), (20,), (2, 3)]:
        x, bias = normal(*rows, 128, seed=1), normal(16, seed=2)
        torch.testing.assert_close(ops.quantised_linear(x, quantised, bias), F.linear(x, restored, bias), rtol=1e-4,
                                   atol=1e-4)


@pytest.mark.parametrize("activation", [None, "relu", "silu"])
def test_quantised_linear_gradients(activation):
    quantised = ops.quantise(normal(16, 128), 8, 64)
    x, bias = normal(20, 128, seed=1).requires_grad_(), normal(16, seed=2).requires_grad_()
    found = torch.autograd.grad(ops.quantised_linear(x, quantised, bias, activation=activation).sum(), (x, bias))
    act = {None: lambda t: t, "relu": F.relu, "silu": F.silu}[activation]
    expected = torch.autograd.grad(act(F.linear(x, quantised.dequantise(), bias)).sum(), (x, bias))
    for one, other in zip(found, expected):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


# ---- gradients that are refused -------------------------------------------------------------


def test_missing_gradients_are_refused_with_a_reason():
    q, k, v = attention_inputs(torch.float32)
    with pytest.raises(RuntimeError, match="no gradient for mask"):
        ops.attention(q, k, v, mask=normal(5, 7).requires_grad_())
    with pytest.raises(RuntimeError, match="no gradient for cos"):
        ops.rope(normal(1, 2, 3, 4), cos=normal(3, 2).requires_grad_(), sin=normal(3, 2))
    with pytest.raises(RuntimeError, match="attention_paged has no gradient"):
        inputs = paged(torch.float32)
        ops.attention_paged(inputs[0].requires_grad_(), *inputs[1:]).sum().backward()
    with pytest.raises(RuntimeError, match="quantise has no gradient: it rounds"):
        ops.quantise(normal(4, 64).requires_grad_()).scales.sum().backward()


def test_embedding_bag_max_has_no_second_gradient():
    table, d_out = normal(5, 3).requires_grad_(), normal(2, 3, seed=1).requires_grad_()
    out = ops.embedding_bag(torch.tensor([[0, 1], [2, 3]]), table, mode="max")
    (d_table,) = torch.autograd.grad(out, table, d_out, create_graph=True)
    with pytest.raises(RuntimeError, match="mode max"):
        d_table.sum().backward()


def test_forward_mode_is_refused_rather_than_dropped():
    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(normal(3), torch.ones(3))
        with pytest.raises((RuntimeError, NotImplementedError), match="jvp|forward"):
            ops.silu(x)


def test_transforms_of_torch_func_are_refused_rather_than_wrong():
    with pytest.raises(RuntimeError, match="functorch|setup_context"):
        torch.func.grad(lambda x: ops.silu(x).sum())(normal(3))


def test_activation_checkpointing():
    x, weight = normal(4, 8).requires_grad_(), normal(8, seed=1).requires_grad_()

    def block(value):
        return ops.gelu(ops.rms_norm(value, weight))

    expected = torch.autograd.grad(block(x).sum(), (x, weight))
    found = torch.autograd.grad(torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False).sum(), (x, weight))
    assert all(torch.equal(one, other) for one, other in zip(found, expected))


# ---- wrong arguments ---------------------------------------------------------------------------


@pytest.mark.parametrize("call,error,text", [
    (lambda: ops.gelu(normal(3), "erf"), ValueError, "approximate is 'erf'"),
    (lambda: ops.cross_entropy(normal(3, 4), torch.zeros(3).long(), reduction="avg"), ValueError, "reduction is 'avg'"),
    (lambda: ops.matmul(normal(3, 4), normal(4, 5), activation="tanh"), ValueError, "activation is 'tanh'"),
    (lambda: ops.embedding_bag(torch.tensor([1]), normal(3, 4), mode="prod"), ValueError, "mode is 'prod'"),
    (lambda: ops.embedding_bag(torch.tensor([1]), normal(3, 4)), ValueError, "need offsets"),
    (lambda: ops.softmax(normal(3, 4), normal(4), dim=0), ValueError, "last dimension"),
    (lambda: ops.attention(*attention_inputs(torch.float32), scale=0.0), ValueError, "scale is 0"),
    (lambda: ops.cross_entropy(normal(3, 4, 5), torch.zeros(3).long()), ValueError, r"\(3, 4, 5\).*\(3,\)"),
    (lambda: ops.rms_norm(normal(3, 4), normal(5)), RuntimeError, "5"),
    (lambda: ops.silu(normal(3).double()), RuntimeError, "silu"),
    (lambda: ops.silu(torch.ones(3, dtype=torch.int32)), RuntimeError, "silu"),
    (lambda: ops.matmul(normal(3, 4), normal(5, 6)), RuntimeError, "4.*5|5.*4"),
    (lambda: ops.silu(None), RuntimeError, "Tensor"),
    (lambda: ops.silu_mul(normal(3), normal(4)), RuntimeError, "3.*4|4.*3"),
], ids=range(14))
def test_wrong_arguments_raise_and_name_what_is_wrong(call, error, text):
    with pytest.raises((error, TypeError) if text == "Tensor" else error, match=text):
        call()


# ---- empty tensors -----------------------------------------------------------------------------


@pytest.mark.parametrize("call,inputs,shape", [
    (ops.silu, [(0, 4)], (0, 4)), (ops.gelu, [(3, 0)], (3, 0)), (ops.silu_mul, [(0, 4), (0, 4)], (0, 4)),
    (ops.rms_norm, [(0, 4), (4,)], (0, 4)), (ops.layer_norm, [(0, 4), (4,), (4,)], (0, 4)),
    (ops.softmax, [(0, 4)], (0, 4)), (ops.log_softmax, [(2, 0, 4)], (2, 0, 4)),
    (ops.matmul, [(0, 4), (4, 5)], (0, 5)), (ops.matmul, [(3, 4), (4, 0)], (3, 0)),
    (ops.matmul, [(3, 0), (0, 5)], (3, 5)), (ops.matmul, [(0, 3, 4), (4, 5)], (0, 3, 5)),
    (ops.linear, [(0, 4), (5, 4), (5,)], (0, 5)), (ops.rope, [(0, 2, 3, 4)], (0, 2, 3, 4)),
    (ops.rope, [(1, 2, 0, 4)], (1, 2, 0, 4)), (ops.attention, [(0, 2, 3, 4), (0, 2, 3, 4), (0, 2, 3, 4)], (0, 2, 3, 4)),
    (ops.attention, [(1, 2, 0, 4), (1, 2, 3, 4), (1, 2, 3, 4)], (1, 2, 0, 4)),
    (ops.attention, [(1, 2, 3, 4), (1, 2, 0, 4), (1, 2, 0, 4)], (1, 2, 3, 4)),
    (lambda t: ops.embedding_bag(torch.empty(0, dtype=torch.int64), t, torch.zeros(2, dtype=torch.int64)), [(3, 4)],
     (2, 4)),
    (lambda t: ops.embedding_bag(torch.empty(0, 2, dtype=torch.int64), t), [(3, 4)], (0, 4)),
    (lambda x: ops.cross_entropy(x, torch.empty(0, dtype=torch.int64), reduction="sum"), [(0, 4)], ()),
    (lambda x: ops.quantised_linear(x, ops.quantise(normal(6, 64))), [(0, 64)], (0, 6)),
], ids=range(21))
def test_empty_tensors_and_their_gradients(call, inputs, shape):
    arguments = [torch.randn(size, requires_grad=True) for size in inputs]
    out = call(*arguments)
    assert out.shape == shape
    out.sum().backward()
    for argument in arguments:
        assert argument.grad is not None and argument.grad.shape == argument.shape
        assert not bool(argument.grad.isnan().any())
    if 0 in inputs[0] and len(inputs) == 2 and out.numel():
        assert not bool(out.any())  # a product over nothing


def test_empty_lists_and_caches():
    ops.adamw_([], [], [], [], step=1)
    ops.cache_write_(torch.empty(0, 2, 4), torch.empty(0, 2, 4), torch.empty(0, dtype=torch.int64),
                     torch.zeros(1, 2, 4, 4), torch.zeros(1, 2, 4, 4))
    assert ops.clip_grad_norm_([torch.zeros(3)], 1.0) == 0.0


# ---- threads and processes ------------------------------------------------------------------------


def transformer_piece(seed: int) -> torch.Tensor:
    """A few operators with a gradient; depends on the seed alone."""
    x = normal(2, 4, 16, 8, seed=seed).requires_grad_()
    q = ops.rope(ops.rms_norm(x, torch.ones(8)))
    y = ops.silu(ops.matmul(ops.attention(q, q, x, causal=True), normal(8, 8, seed=seed + 1)))
    ops.softmax(y).square().sum().backward()
    return x.grad


def test_many_threads_get_the_results_of_one():
    expected = [transformer_piece(seed) for seed in range(8)]
    wrong: list[int] = []

    def work(seed: int) -> None:
        for _ in range(10):
            if not torch.equal(transformer_piece(seed), expected[seed]):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


class Normalised(Dataset):
    """Rows that a worker process normalises with ingot."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> torch.Tensor:
        from ingot import ops as worker_ops

        return worker_ops.rms_norm(torch.arange(1.0, 9.0) * (index + 1))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_data_loader_workers(method: str):
    ops.silu(torch.ones(4))  # the parent has used ingot before it forks
    loader = DataLoader(Normalised(), batch_size=4, num_workers=2, multiprocessing_context=method)
    rows = torch.cat(list(loader))
    expected = ops.rms_norm(torch.arange(1.0, 9.0) * torch.arange(1.0, 13.0).unsqueeze(1))
    torch.testing.assert_close(rows, expected)
