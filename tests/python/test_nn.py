"""ingot.nn: the same constructor, state_dict and results as the torch modules they stand for."""
from __future__ import annotations

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import ingot.nn
from ingot import ops
from op_samples import normal, targets

PAIRS = [
    ("RMSNorm", (16,), {}, (3, 16)), ("RMSNorm", (16,), {"eps": 1e-3}, (2, 3, 16)),
    ("RMSNorm", ((3, 4),), {"elementwise_affine": False}, (5, 3, 4)), ("RMSNorm", ((3, 4),), {}, (5, 3, 4)),
    ("LayerNorm", (16,), {}, (3, 16)), ("LayerNorm", ((3, 4),), {"eps": 1e-3}, (5, 3, 4)),
    ("LayerNorm", (16,), {"bias": False}, (3, 16)), ("LayerNorm", (16,), {"elementwise_affine": False}, (3, 16)),
    ("SiLU", (), {}, (3, 7)), ("GELU", (), {}, (3, 7)), ("GELU", (), {"approximate": "tanh"}, (3, 7)),
    ("Softmax", (), {"dim": -1}, (3, 7)), ("Softmax", (), {"dim": 1}, (3, 7, 2)),
    ("LogSoftmax", (), {"dim": -1}, (3, 7)), ("Linear", (8, 5), {}, (2, 3, 8)),
    ("Linear", (8, 5), {"bias": False}, (8,)),
]


def randomise(module: nn.Module) -> None:
    """Parameters that are not all 1 or 0."""
    with torch.no_grad():
        for index, parameter in enumerate(module.parameters()):
            parameter.copy_(normal(*parameter.shape, seed=index + 5))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name,args,kwargs,shape", PAIRS, ids=[f"{p[0]}-{i}" for i, p in enumerate(PAIRS)])
def test_modules_match_torch(name, args, kwargs, shape, dtype):
    theirs = getattr(nn, name)(*args, **kwargs)
    randomise(theirs)
    ours = getattr(ingot.nn, name)(*args, **kwargs)
    ours.load_state_dict(theirs.state_dict())
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert isinstance(ours, type(theirs)) and ours.extra_repr() == theirs.extra_repr()
    theirs, ours = theirs.to(dtype), ours.to(dtype)
    x, y = (normal(*shape, dtype=dtype).requires_grad_() for _ in range(2))
    found, expected = ours(x), theirs(y)
    tolerance = {"rtol": 1e-5, "atol": 1e-5} if dtype == torch.float32 else {"rtol": 2e-2, "atol": 5e-2}
    torch.testing.assert_close(found, expected, **tolerance)
    weights = normal(*expected.shape, dtype=dtype, seed=3)
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    torch.testing.assert_close(x.grad, y.grad, **tolerance)
    for one, other in zip(ours.parameters(), theirs.parameters()):
        torch.testing.assert_close(one.grad, other.grad, **tolerance)


def test_silu_in_place():
    x = normal(3, 4)
    expected = F.silu(x)
    assert ingot.nn.SiLU(inplace=True)(x) is x
    torch.testing.assert_close(x, expected)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_loss(reduction: str):
    logits, classes = normal(6, 11), targets(6, 11)
    options = {"reduction": reduction, "label_smoothing": 0.1}
    torch.testing.assert_close(ingot.nn.CrossEntropyLoss(**options)(logits, classes),
                               nn.CrossEntropyLoss(**options)(logits, classes))


def test_options_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="class weights"):
        ingot.nn.CrossEntropyLoss(torch.ones(3))
    with pytest.raises(ValueError, match="probabilities"):
        ingot.nn.CrossEntropyLoss()(normal(2, 3), torch.full((2, 3), 1 / 3))
    with pytest.raises(ValueError, match="max_norm"):
        ingot.nn.EmbeddingBag(4, 3, max_norm=1.0)
    with pytest.raises(ValueError, match="sparse"):
        ingot.nn.EmbeddingBag(4, 3, sparse=True)
    with pytest.raises(RuntimeError, match=r"over \[16\].*\[3, 8\]"):
        ingot.nn.RMSNorm(16)(normal(3, 8))
    with pytest.raises(ValueError, match="6 heads cannot share 4"):
        ingot.nn.Attention(24, 6, 4)
    with pytest.raises(ValueError, match="multiple of the group"):
        ingot.nn.QuantisedLinear(48, 8, group=64)
    with pytest.raises(ValueError, match="not 8"):
        ingot.nn.Linear4bit(64, 8, bits=8)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(mode: str):
    theirs = nn.EmbeddingBag(10, 6, mode=mode, padding_idx=2)
    ours = ingot.nn.EmbeddingBag(10, 6, mode=mode, padding_idx=2)
    ours.load_state_dict(theirs.state_dict())
    indices, offsets = torch.tensor([1, 3, 2, 9, 0]), torch.tensor([0, 2])
    torch.testing.assert_close(ours(indices, offsets), theirs(indices, offsets))
    ours(indices, offsets).square().sum().backward()
    theirs(indices, offsets).square().sum().backward()
    torch.testing.assert_close(ours.weight.grad, theirs.weight.grad)


def test_swiglu():
    module = ingot.nn.SwiGLU(8, 12)
    x = normal(2, 3, 8)
    expected = F.linear(F.silu(F.linear(x, module.gate_proj.weight)) * F.linear(x, module.up_proj.weight),
                        module.down_proj.weight)
    torch.testing.assert_close(module(x), expected)
    assert list(module.state_dict()) == ["gate_proj.weight", "up_proj.weight", "down_proj.weight"]


def test_attention_with_grouped_heads_and_cache():
    module = ingot.nn.Attention(32, 4, 2, rope=ingot.nn.RotaryEmbedding())
    x = normal(2, 6, 32)
    whole = module(x)
    q, k, v = (projection(x).view(2, 6, -1, 8).transpose(1, 2)
               for projection in (module.q_proj, module.k_proj, module.v_proj))
    expected = F.scaled_dot_product_attention(ops.rope(q), ops.rope(k).repeat_interleave(2, 1),
                                              v.repeat_interleave(2, 1), is_causal=True)
    torch.testing.assert_close(whole, module.o_proj(expected.transpose(1, 2).reshape(2, 6, 32)), rtol=1e-4, atol=1e-5)
    cache = (torch.empty(2, 2, 0, 8), torch.empty(2, 2, 0, 8))
    steps = []
    for index in range(6):
        out, cache = module(x[:, index:index + 1], cache=cache)
        steps.append(out)
    torch.testing.assert_close(torch.cat(steps, 1), whole, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bits,symmetric", [(4, False), (4, True), (8, False)])
def test_quantised_linear(bits: int, symmetric: bool):
    linear = nn.Linear(64, 10)
    layer = ingot.nn.QuantisedLinear.from_linear(linear, bits, 32, symmetric)
    x = normal(5, 64)
    expected = F.linear(x, layer.weight.dequantise(), linear.bias)
    torch.testing.assert_close(layer(x), expected, rtol=1e-4, atol=1e-4)
    assert (layer(x) - linear(x)).abs().max() < (0.5 if bits == 4 else 0.05)
    other = ingot.nn.QuantisedLinear(64, 10, bits=bits, group=32, symmetric=symmetric)
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(x), layer(x))
    assert ("biases" in layer.state_dict()) != symmetric


def test_linear4bit_is_quantised_linear():
    layer = ingot.nn.Linear4bit.from_linear(nn.Linear(64, 10))
    assert isinstance(layer, ingot.nn.Linear4bit) and layer.bits == 4 and layer(normal(2, 64)).shape == (2, 10)
    assert ingot.nn.QuantizedLinear is ingot.nn.QuantisedLinear


def test_modules_copy_and_pickle():
    module = nn.Sequential(ingot.nn.RMSNorm(8), ingot.nn.Linear(8, 8), ingot.nn.SiLU())
    x = normal(3, 8)
    assert torch.equal(copy.deepcopy(module)(x), module(x))
    assert torch.equal(pickle.loads(pickle.dumps(module))(x), module(x))


@pytest.mark.parametrize("heads", [4, 6])
def test_alibi_slopes(heads: int):
    slopes = ingot.nn.alibi_slopes(heads)
    assert slopes.shape == (heads,) and slopes.dtype == torch.float32
    assert slopes[0] == 0.25 and bool((slopes > 0).all())
