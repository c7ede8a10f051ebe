"""Every operator passes torch.library.opcheck: schema, gradient registration, fake results, tracing with dynamic
shapes; and the table of samples leaves none out."""
from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import ingot._C
import ingot.ops  # noqa: F401 (registers the operators)
from op_samples import SAMPLES

# Arguments whose gradient is refused by design; the others ask for one.
WITHOUT_GRADIENT = {"attention": (3, 4), "softmax_backward": (), "rope": (2, 3), "rope_backward": (2, 3),
                    "quantised_matvec": (2, 3), "quantised_matmul": (2, 3), "attention_backward": (4, 5),
                    "embedding_bag_backward": (4,)}
# Operators that have none at all (they change their arguments, round, or serve decoding).
NEVER_DIFFERENTIABLE = {"fill_", "axpy_", "cache_write_", "cache_copy_", "adamw_", "adam_", "grad_norm", "quantise",
                        "dequantise", "attention_paged"}
# Samples whose gradient is refused with a message (test_ops_linalg.py and test_ops_gradients.py check it).
REFUSING_SAMPLES = {("lu", 1), ("qr", 2), ("embedding_bag_backward", 1)}
CASES = [(name, number) for name in sorted(SAMPLES) for number in range(len(SAMPLES[name]))]


def asking_for_gradients(name: str, arguments: tuple) -> tuple:
    """The arguments with requires_grad where the operator has a gradient."""
    if name in NEVER_DIFFERENTIABLE:
        return arguments
    refused = WITHOUT_GRADIENT.get(name, ())
    return tuple(value.requires_grad_() if isinstance(value, torch.Tensor) and value.is_floating_point()
                 and index not in refused else value for index, value in enumerate(arguments))


def test_samples_cover_every_operator():
    assert set(SAMPLES) == set(ingot._C.torch_schemas())


@pytest.mark.parametrize("name,number", CASES, ids=[f"{name}-{number}" for name, number in CASES])
def test_opcheck(name: str, number: int):
    arguments = SAMPLES[name][number](torch.float32)
    if (name, number) not in REFUSING_SAMPLES:
        arguments = asking_for_gradients(name, arguments)
    torch.library.opcheck(getattr(torch.ops.ingot, name).default, arguments)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_fake_results_of_half_types(name: str, dtype: torch.dtype):
    arguments = SAMPLES[name][0](dtype)
    torch.library.opcheck(getattr(torch.ops.ingot, name).default, arguments,
                          test_utils=["test_schema", "test_faketensor"])


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_meta_tensors_give_the_same_shapes(name: str):
    for sample in SAMPLES[name]:
        arguments = sample(torch.float32)
        on_meta = torch.utils._pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.to("meta"), arguments)
        function = getattr(torch.ops.ingot, name)
        expected, found = function(*arguments), function(*on_meta)
        assert type(expected) is type(found)
        for one, other in zip(torch.utils._pytree.tree_leaves(expected), torch.utils._pytree.tree_leaves(found)):
            if one is not None:
                assert other.device.type == "meta"
                assert (one.shape, one.dtype, one.stride()) == (other.shape, other.dtype, other.stride())


def test_loading_again_changes_nothing():
    from ingot._torch import load

    before = torch.ops.ingot.silu(torch.ones(3))
    load()
    assert torch.equal(torch.ops.ingot.silu(torch.ones(3)), before)


def test_without_torch_the_error_says_what_is_missing():
    program = "import sys; sys.modules['torch'] = None\nimport ingot\nimport ingot.ops"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.returncode == 1
    assert "ImportError: ingot's operators need PyTorch 2.7 or newer" in found.stderr
