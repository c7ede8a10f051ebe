"""torch.compile and torch.export over ingot's operators: no graph break, the same results, dynamic shapes."""
from __future__ import annotations

import pytest
import torch
import torch._dynamo
from torch import nn

import ingot.nn
from ingot import ops
from op_samples import normal, targets

# The back end that runs the traced graph as it is, through AOTAutograd: what the operators answer for. Inductor
# needs a C++ compiler; test_inductor_gives_the_same_results covers it once.
BACKEND = "aot_eager"


class Block(nn.Module):
    """A transformer block and a loss that use more than ten different operators."""

    def __init__(self, features: int = 32, heads: int = 4, classes: int = 11) -> None:
        super().__init__()
        self.first_norm, self.last_norm = ingot.nn.RMSNorm(features), ingot.nn.LayerNorm(features)
        self.middle_weight = nn.Parameter(torch.ones(features))
        self.attention = ingot.nn.Attention(features, heads, 2, rope=ingot.nn.RotaryEmbedding())
        self.mlp = ingot.nn.SwiGLU(features, 48)
        self.gate = ingot.nn.Linear(features, features)
        self.head = ingot.nn.Linear(features, classes)
        self.quantised = ingot.nn.QuantisedLinear.from_linear(nn.Linear(features, features), group=32)
        self.bags = ingot.nn.EmbeddingBag(10, features, mode="sum")

    def forward(self, x: torch.Tensor, indices: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
        h = self.attention(self.first_norm(x))
        h, total = ops.add_rms_norm(h, x, self.middle_weight)
        h = ops.axpy(self.mlp(h), total, 0.5)
        h = h + ops.gelu(self.gate(h), "tanh") + ops.silu(self.quantised(h)) + self.bags(indices).unsqueeze(1)
        logits = self.head(self.last_norm(h)).flatten(0, 1)
        weights = ops.softmax(logits, scale=0.5)
        return ops.cross_entropy(logits, classes) + (weights * ops.log_softmax(logits)).sum() * 1e-3


def inputs(batch: int = 2, rows: int = 6) -> tuple[torch.Tensor, ...]:
    """x, indices and classes for Block."""
    return normal(batch, rows, 32), torch.arange(batch * 3).view(batch, 3) % 10, targets(batch * rows, 11)


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def test_block_has_one_graph_with_more_than_ten_operators():
    graphs: list[torch.fx.GraphModule] = []

    def keep(graph, example_inputs):
        graphs.append(graph)
        return graph.forward

    block = Block()
    explained = torch._dynamo.explain(block)(*inputs())
    assert explained.graph_break_count == 0 and explained.graph_count == 1
    torch._dynamo.reset()
    torch.compile(block, backend=keep, fullgraph=True)(*inputs())
    used = {str(node.target) for node in graphs[0].graph.nodes if str(node.target).startswith("ingot.")}
    assert len(graphs) == 1
    assert len(used) >= 10, sorted(used)


def test_compiled_block_trains_as_the_eager_one():
    block = Block()
    compiled = torch.compile(block, backend=BACKEND, fullgraph=True)
    expected = block(*inputs())
    expected.backward()
    wanted = [parameter.grad.clone() for parameter in block.parameters()]
    block.zero_grad()
    found = compiled(*inputs())
    found.backward()
    torch.testing.assert_close(found, expected)
    for parameter, gradient in zip(block.parameters(), wanted):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-5)


def test_dynamic_shapes_do_not_compile_again():
    block = Block()
    compiled = torch.compile(block, backend=BACKEND, fullgraph=True, dynamic=True)
    counter = torch._dynamo.utils.counters["stats"]
    with torch.no_grad():
        compiled(*inputs(7, 5))
        before = counter["unique_graphs"]
        for batch, rows in ((4, 8), (5, 9), (2, 12)):
            torch.testing.assert_close(compiled(*inputs(batch, rows)), block(*inputs(batch, rows)))
    assert counter["unique_graphs"] == before


def test_compiled_under_autocast():
    block = Block()

    def step(*arguments):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return block(*arguments)

    compiled = torch.compile(step, backend=BACKEND, fullgraph=True)
    torch.testing.assert_close(compiled(*inputs()), step(*inputs()), rtol=2e-2, atol=2e-2)


def test_in_place_operators_in_a_graph():
    def function(x, y):
        z = x * 2
        ops.axpy_(z, y, 0.5)
        ops.fill_(y, 3.0)
        return z + y

    x, y = normal(3, 4), normal(3, 4, seed=1)
    expected_y = y.clone()
    expected = function(x, expected_y)
    found = torch.compile(function, backend=BACKEND, fullgraph=True)(x, y)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(y, expected_y)


@pytest.mark.parametrize("dynamic", [False, True])
def test_linalg_in_a_graph(dynamic: bool):
    def function(a, b):
        factor = ops.cholesky(a)
        x = ops.solve(a, b) + ops.triangular_solve(factor, b, upper=False)
        return x, ops.svdvals(a), ops.lstsq(a, b).solution, ops.eigvalsh(a), ops.qr(a).R.abs()

    half = normal(5, 5)
    arguments = (half @ half.mT + torch.eye(5), normal(5, 2))
    compiled = torch.compile(function, backend=BACKEND, fullgraph=True, dynamic=dynamic)
    for one, other in zip(compiled(*arguments), function(*arguments)):
        torch.testing.assert_close(one, other)


def test_export_of_a_module_with_a_dynamic_batch():
    class Inference(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.attention = ingot.nn.RMSNorm(32), ingot.nn.Attention(32, 4, 2)
            self.mlp = ingot.nn.SwiGLU(32, 48)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x + self.attention(self.norm(x))
            return x + self.mlp(x)

    module = Inference().eval()
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(module, (normal(3, 6, 32),), dynamic_shapes={"x": {0: batch}})
    assert "ingot.attention" in str(program.graph)
    for size in (2, 5):
        x = normal(size, 6, 32)
        torch.testing.assert_close(program.module()(x), module(x))


def test_inductor_gives_the_same_results():
    def function(x, weight):
        return ops.softmax(ops.rms_norm(x * 2, weight) + 1).sum()

    x, weight = normal(4, 16).requires_grad_(), normal(16).requires_grad_()
    try:
        found = torch.compile(function, fullgraph=True)(x, weight)
    except Exception as error:
        if "compiler" in str(error).lower() and "ingot" not in str(error).lower():
            pytest.skip(f"inductor has no working C++ compiler here: {error}")
        raise
    found.backward()
    y, other = x.detach().clone().requires_grad_(), weight.detach().clone().requires_grad_()
    expected = function(y, other)
    expected.backward()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(weight.grad, other.grad, rtol=1e-4, atol=1e-6)
