"""ingot.patch: modules of a model carried out by ingot, and given back."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from torch import nn

import ingot


class LlamaRMSNorm(nn.Module):
    """As model libraries write it: computed in float32, the weight applied to the rounded value."""

    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(size) + 0.5)
        self.variance_epsilon = eps

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        x = hidden_states.float()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return self.weight * x.to(hidden_states.dtype)


class GemmaRMSNorm(nn.Module):
    """The weight is kept as its difference from 1."""

    def __init__(self, size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size) * 0.1)
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (y * (1.0 + self.weight.float())).type_as(x)


class FalseRMSNorm(LlamaRMSNorm):
    """Has the name and the members, but computes something else."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * x / (x.abs().mean(-1, keepdim=True) + self.variance_epsilon)


class GatedRMSNorm(LlamaRMSNorm):
    """Takes two tensors."""

    def forward(self, x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        return super().forward(x) * gate


class LlamaMLP(nn.Module):
    """Gate, up and down projections."""

    def __init__(self, size: int, hidden: int, activation: nn.Module | None = None) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(size, hidden, bias=False)
        self.up_proj = nn.Linear(size, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, size, bias=False)
        self.act_fn = activation or nn.SiLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    """A bit of everything."""

    def __init__(self, size: int = 32) -> None:
        super().__init__()
        self.first = nn.RMSNorm(size, eps=1e-5)
        self.second = LlamaRMSNorm(size)
        self.third = GemmaRMSNorm(size)
        self.norm = nn.LayerNorm(size)
        self.mlp = LlamaMLP(size, 2 * size)
        self.gelu = nn.GELU(approximate="tanh")
        self.exact = nn.GELU()
        self.head = nn.Linear(size, 10)
        self.softmax = nn.Softmax(-1)
        self.log_softmax = nn.LogSoftmax(-1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.mlp(self.second(self.first(x)))
        x = self.exact(self.gelu(self.third(self.norm(x))))
        return self.log_softmax(self.head(x) + self.softmax(self.head(x)))


def run(model: nn.Module, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    torch.manual_seed(7)
    x = torch.randn(4, 6, 32).to(dtype).requires_grad_()
    out = model(x)
    model.zero_grad()
    (out * torch.randn_like(out)).sum().backward()
    return [out.detach(), x.grad, *[p.grad.clone() for p in model.parameters()]]


LINEAR = {"head", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}
SWAPPED = {"first", "second", "third", "norm", "mlp", "mlp.act_fn", "gelu", "exact", "softmax", "log_softmax"} | LINEAR


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_patched_model_has_the_same_results_and_gradients(dtype):
    torch.manual_seed(0)
    model = Block().to(dtype)
    before = run(model, dtype)
    report = ingot.patch(model, always=True)
    assert {entry.path for entry in report.swapped} == SWAPPED
    assert not report.skipped
    tolerance = 2e-5 if dtype == torch.float32 else 6e-2
    for found, expected in zip(run(model, dtype), before, strict=True):
        scale = max(1.0, float(expected.abs().max()))
        assert float((found.float() - expected.float()).abs().max()) <= tolerance * scale
    assert ingot.unpatch(model) == len(SWAPPED)
    for found, expected in zip(run(model, dtype), before, strict=True):
        assert torch.equal(found, expected)


def test_modules_parameters_and_hooks_stay_the_same_objects():
    model = Block()
    modules, parameters, keys = list(model.modules()), list(model.parameters()), list(model.state_dict())
    classes = [type(module) for module in modules]
    seen: list[str] = []
    model.first.register_forward_hook(lambda *_: seen.append("first"))
    ingot.patch(model, always=True)
    assert all(a is b for a, b in zip(modules, model.modules(), strict=True))
    assert all(a is b for a, b in zip(parameters, model.parameters(), strict=True))
    assert list(model.state_dict()) == keys
    assert isinstance(model.first, nn.RMSNorm) and isinstance(model.second, LlamaRMSNorm)
    model(torch.randn(2, 32))
    assert seen == ["first"]
    ingot.unpatch(model)
    assert [type(module) for module in model.modules()] == classes
    assert not any("_ingot_always" in module.__dict__ for module in model.modules())


def operators_of(function) -> set[str]:
    """Which operators a call runs."""
    from torch.utils._python_dispatch import TorchDispatchMode

    names: set[str] = set()

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, op, types, args=(), kwargs=None):
            names.add(op.name().partition(".")[0])
            return op(*args, **(kwargs or {}))

    with Log():
        function()
    return names


@pytest.mark.parametrize(
    "module, operator, inputs",
    [
        (nn.RMSNorm(32), "ingot::rms_norm", [torch.randn(3, 32)]),
        (nn.LayerNorm(32), "ingot::layer_norm", [torch.randn(3, 32)]),
        (nn.LayerNorm(32, elementwise_affine=False), "ingot::layer_norm", [torch.randn(3, 32)]),
        (LlamaRMSNorm(32), "ingot::rms_norm", [torch.randn(3, 32)]),
        (GemmaRMSNorm(32), "ingot::rms_norm", [torch.randn(3, 32)]),
        (nn.SiLU(), "ingot::silu", [torch.randn(3, 32)]),
        (nn.GELU(), "ingot::gelu", [torch.randn(3, 32)]),
        (nn.GELU("tanh"), "ingot::gelu_tanh", [torch.randn(3, 32)]),
        (nn.Softmax(-1), "ingot::softmax", [torch.randn(3, 32)]),
        (nn.LogSoftmax(1), "ingot::log_softmax", [torch.randn(3, 32)]),
        (nn.CrossEntropyLoss(), "ingot::cross_entropy", [torch.randn(3, 32), torch.tensor([1, 5, 31])]),
        (nn.EmbeddingBag(20, 8), "ingot::embedding_bag", [torch.randint(20, (3, 5))]),
        (
            nn.EmbeddingBag(20, 8, mode="sum"),
            "ingot::embedding_bag",
            [torch.randint(20, (9,)), torch.tensor([0, 4, 4])],
        ),
        (LlamaMLP(32, 48), "ingot::silu_mul", [torch.randn(3, 32)]),
        (LlamaMLP(32, 48, nn.GELU()), "ingot::gelu_mul", [torch.randn(3, 32)]),
        (LlamaMLP(32, 48, nn.GELU("tanh")), "ingot::gelu_tanh_mul", [torch.randn(3, 32)]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else None,
)
def test_each_module_runs_ingots_operator(module, operator, inputs):
    expected = module(*inputs)
    report = ingot.patch(module, always=True)
    assert report.swapped[0].path == "" and report.swapped[0].module == type(module)._ingot_original.__name__
    assert operator in operators_of(lambda: module(*inputs))
    torch.testing.assert_close(module(*inputs), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "module, inputs",
    [
        (nn.SiLU(), [torch.randn(3, 32, dtype=torch.float64)]),
        (nn.SiLU(), [torch.randn(32, 3).T]),
        (nn.SiLU(inplace=True), [torch.randn(3, 32)]),
        (nn.RMSNorm((4, 8)), [torch.randn(3, 4, 8)]),
        (nn.RMSNorm(8), [torch.randn(3, 8, dtype=torch.float64)]),
        (nn.Softmax(0), [torch.randn(3, 32)]),
        (nn.CrossEntropyLoss(weight=torch.rand(32)), [torch.randn(3, 32), torch.tensor([1, 5, 31])]),
        (nn.CrossEntropyLoss(), [torch.randn(3, 32), torch.rand(3, 32)]),
        (nn.EmbeddingBag(20, 8, mode="max"), [torch.randint(20, (3, 5))]),
        (nn.EmbeddingBag(20, 8, padding_idx=1), [torch.randint(20, (3, 5))]),
    ],
    ids=lambda value: repr(value) if isinstance(value, nn.Module) else "",
)
def test_what_ingot_does_not_take_is_the_modules_own(module, inputs):
    expected = copy.deepcopy(module)(*[x.clone() for x in inputs])
    ingot.patch(module, always=True)
    names = operators_of(lambda: module(*[x.clone() for x in inputs]))
    assert not any(name.startswith("ingot::") for name in names)
    assert torch.equal(module(*[x.clone() for x in inputs]), expected)


def test_a_module_that_computes_something_else_is_left_alone():
    model = nn.ModuleDict({"false": FalseRMSNorm(16), "gated": GatedRMSNorm(16), "true": LlamaRMSNorm(16)})
    report = ingot.patch(model)
    assert [entry.path for entry in report.swapped] == ["true"]
    assert {entry.path: entry.note for entry in report.skipped} == {
        "false": "its results are not those of rms_norm",
        "gated": report.skipped[1].note,
    }
    assert "does not take one tensor" in report.skipped[1].note
    assert type(model["false"]) is FalseRMSNorm


def test_an_mlp_with_another_product_is_left_alone():
    class OddMLP(LlamaMLP):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.down_proj(self.act_fn(self.gate_proj(x)) + self.up_proj(x))

    report = ingot.patch(OddMLP(8, 16), activations=False)
    assert (
        not report.swapped
        and "not those of down_proj(f(gate_proj(x)) * up_proj(x))" in report.skipped[0].note
    )


def test_groups_can_be_switched_off():
    off = dict.fromkeys(
        ("normalization", "activations", "softmax", "embedding_bag", "cross_entropy", "mlp"), False
    )
    model = Block()
    assert not ingot.patch(model, **off).swapped
    report = ingot.patch(model, **{**off, "softmax": True})
    assert [entry.path for entry in report.swapped] == ["softmax", "log_softmax"]
    again = ingot.patch(model, **{**off, "softmax": True})
    assert not again.swapped and [entry.note for entry in again.skipped] == ["patched already"] * 2


def test_the_report_is_a_table():
    text = str(ingot.patch(nn.ModuleDict({"a": nn.SiLU(), "b": FalseRMSNorm(4)})))
    assert text.splitlines() == [
        "module  class         now",
        "a       SiLU          ingot silu",
        "b       FalseRMSNorm  left alone: its results are not those of rms_norm",
        "1 swapped, 1 left alone",
    ]


def test_sizes_that_are_not_faster_stay_with_torch():
    module = nn.SiLU()
    ingot.patch(module)
    assert "ingot::silu" not in operators_of(lambda: module(torch.randn(64)))
    assert "ingot::silu" in operators_of(lambda: module(torch.randn(1 << 19)))


def test_saved_and_copied_models_are_of_their_original_classes():
    model = nn.Sequential(nn.RMSNorm(8, eps=1e-5), nn.SiLU())
    ingot.patch(model, always=True)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for other in (torch.load(file, weights_only=False), copy.deepcopy(model)):
        assert type(other[0]) is nn.RMSNorm and type(other[1]) is nn.SiLU
        assert torch.equal(other[0].weight, model[0].weight) and other[0].weight is not model[0].weight
        x = torch.randn(3, 8)
        torch.testing.assert_close(other(x), model(x))
    assert type(model[0]) is not nn.RMSNorm


def test_patched_models_compile():
    model = Block()
    x = torch.randn(4, 32)
    expected = model(x)
    ingot.patch(model, always=True)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), expected, rtol=1e-4, atol=1e-5)


def test_calls_by_keyword():
    module = LlamaRMSNorm(8)
    x = torch.randn(3, 8)
    expected = module(hidden_states=x)
    ingot.patch(module, always=True)
    torch.testing.assert_close(module(hidden_states=x), expected)
    with pytest.raises(TypeError):
        module(x, 1, 2)


def test_patch_wants_a_module():
    with pytest.raises(TypeError, match="not a list"):
        ingot.patch([nn.SiLU()])


def test_large_linear_layers_are_swapped_for_few_rows():
    torch.manual_seed(1)
    layers = {"large": nn.Linear(512, 640), "small": nn.Linear(8, 8), "in_half": nn.Linear(512, 640).half()}
    model = nn.ModuleDict(layers)
    x, many = torch.randn(2, 1, 512), torch.randn(64, 512)
    with torch.no_grad():
        expected, of_many = model["large"](x), model["large"](many)
        assert [entry.path for entry in ingot.patch(model).swapped] == ["large"]
        found = model["large"](x)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        assert found.stride() == expected.stride()
        assert torch.equal(model["large"](many), of_many)
        assert model["large"](x[0, 0]).shape == (640,)
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            model["large"](torch.randn(1, 511))
    model["large"](x).sum().backward()
    torch.testing.assert_close(model["large"].bias.grad, torch.full((640,), 2.0))
    assert ingot.unpatch(model) == 1 and type(model["large"]) is nn.Linear
    assert not ingot.patch(model, linear=False).swapped
