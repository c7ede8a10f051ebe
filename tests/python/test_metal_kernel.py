"""ingot.metal_kernel: MLX's custom kernels on NumPy arrays and torch tensors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ingot

COPY = "uint i = thread_position_in_grid.x; out[i] = inp[i];"


def elementwise(name: str, source: str, **options):
    """A kernel from `inp` to `out`, and a function that runs it with one thread per element."""
    kernel = ingot.metal_kernel(name, ["inp"], ["out"], source, **options)

    def run(x, dtype=None, **call):
        size = x.size if isinstance(x, np.ndarray) else x.numel()
        return kernel(
            inputs=[x],
            output_shapes=[x.shape],
            output_dtypes=[dtype or x.dtype],
            grid=(size, 1, 1),
            threadgroup=(min(size, 256), 1, 1),
            **call,
        )[0]

    return run


DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
]


@pytest.mark.parametrize("size", [3, 100])  # constant and device address space
@pytest.mark.parametrize("name", DTYPES)
def test_copies_every_numpy_type(name, size):
    x = np.arange(size).astype(name)
    out = elementwise("copy", COPY)(x)
    assert isinstance(out, np.ndarray) and out.dtype == x.dtype
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool]
)
def test_copies_torch_tensors(dtype):
    x = torch.randn(33).mul(3).to(dtype)
    out = elementwise("copy", COPY)(x)
    assert isinstance(out, torch.Tensor) and out.dtype == dtype
    assert torch.equal(out, x)


def test_complex_numbers():
    x = (np.random.default_rng(0).normal(size=(16, 2)).astype(np.float32)).view(np.complex64)[:, 0]
    square = elementwise(
        "square", "uint i = thread_position_in_grid.x; out[i] = inp[i] * inp[i] - inp[i] / inp[i];"
    )
    np.testing.assert_allclose(square(x), x * x - 1, rtol=1e-5, atol=1e-6)


def test_arguments_and_template():
    kernel = ingot.metal_kernel(
        "arguments",
        ["a", "b", "c", "d"],
        ["first", "second"],
        """
        uint i = thread_position_in_grid.x;
        T scale = a[0] * 0 + 1;
        first[i] = FLAG ? (a[1] + b[2] + c[3] + d + COUNT) * scale : 1;
        second[i] = a[1] + b[2] + c[1] - d;
        """,
    )
    a = np.random.default_rng(1).normal(size=(3, 6)).astype(np.float32)
    c = np.array([[1.5, -2.0], [0.5, 4.25]], np.float16)
    call = dict(
        inputs=[a, np.array([3, 4, 5], np.int32), c, 7.25],
        output_shapes=[(3, 2), (3, 2)],
        output_dtypes=[np.float32, np.int32],
        grid=(6, 1, 1),
        threadgroup=(2, 1, 1),
    )
    first, second = kernel(template=[("FLAG", True), ("COUNT", 3), ("T", np.float32)], **call)
    value = a.flat[1] + 5 + 4.25 + 7.25 + 3
    np.testing.assert_allclose(first, np.full((3, 2), value), rtol=1e-6)
    assert second.dtype == np.int32
    np.testing.assert_array_equal(second, np.full((3, 2), int(a.flat[1] + 5 - 2.0 - 7.25)))
    first, _ = kernel(template=[("FLAG", False), ("COUNT", -3), ("T", "float16")], **call)
    np.testing.assert_array_equal(first, np.ones((3, 2)))


@pytest.mark.parametrize("value, dtype", [(7, "int32_t"), (2**40, "int64_t"), (1.5, "float"), (True, "bool")])
def test_numbers_are_passed_by_reference_in_mlx_types(value, dtype, capsys):
    kernel = ingot.metal_kernel("number", ["x"], ["out"], "out[0] = x;")
    [out] = kernel(
        inputs=[value],
        output_shapes=[(1,)],
        output_dtypes=["float32"],
        grid=(1, 1, 1),
        threadgroup=(1, 1, 1),
        verbose=True,
    )
    assert out[0] == np.float32(value)
    assert f"const constant {dtype}& x [[buffer(0)]]" in capsys.readouterr().out


STRIDED = """
    uint i = thread_position_in_grid.x;
    uint place = elem_to_loc(i, inp_shape, inp_strides, inp_ndim);
    out[i] = metal::precise::exp(inp[place]) * threads_per_simdgroup;
"""
DENSE = "uint i = thread_position_in_grid.x; out[i] = metal::precise::exp(inp[i]) * threads_per_simdgroup;"


@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize("view", ["rows", "columns", "transposed", "broadcast", "backwards", "offset"])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_strided_inputs(kind, view, copied):
    if kind == "torch" and view == "backwards":
        pytest.skip("torch has no negative strides")
    base = np.random.default_rng(2).normal(size=(6, 8)).astype(np.float32)
    base = torch.from_numpy(base) if kind == "torch" else base
    broadcast = torch.broadcast_to if kind == "torch" else np.broadcast_to
    x = {
        "rows": lambda: base[::2],
        "columns": lambda: base[:, ::3],
        "transposed": lambda: base.T,
        "broadcast": lambda: broadcast(base[:1], (5, 8)),
        "backwards": lambda: base[::-1],
        "offset": lambda: base[1:5, 2:7],
    }[view]()
    out = elementwise("strided", DENSE if copied else STRIDED, ensure_row_contiguous=copied)(x)
    np.testing.assert_allclose(np.asarray(out), np.exp(np.asarray(x)) * 32, rtol=1e-6)


def test_shape_strides_and_ndim_are_those_of_the_array():
    kernel = ingot.metal_kernel(
        "shape",
        ["x"],
        ["out"],
        "for (int d = 0; d < x_ndim; d++) { out[d] = x_shape[d]; out[x_ndim + d] = x_strides[d]; }",
        ensure_row_contiguous=False,
    )
    x = np.zeros((4, 6, 10), np.float32)[:, ::2, 1:9]
    [out] = kernel(
        inputs=[x], output_shapes=[(6,)], output_dtypes=["int64"], grid=(1, 1, 1), threadgroup=(1, 1, 1)
    )
    assert out.tolist() == [4, 3, 8, 60, 20, 1]


def test_header_and_ceildiv():
    header = """
    template <typename T>
    T twice(T x) { return x + x; }
    """
    run = elementwise(
        "twice", "uint i = thread_position_in_grid.x; out[i] = twice(inp[i]) + ceildiv(7, 2);", header=header
    )
    x = np.random.default_rng(3).normal(size=40).astype(np.float32)
    np.testing.assert_allclose(run(x), 2 * x + 4, rtol=1e-6)


def test_limits_log1p_and_shuffles():
    source = """
        uint i = thread_position_in_grid.x;
        long next = simd_shuffle_down(long(i) << 33, 1);
        bool odd = simd_shuffle(bool(i & 1), 3);
        out[i] = log1p(inp[i]) + (i < 31 ? float(next >> 33) : 0) + odd + (inp[i] > Limits<float>::max);
    """
    x = np.linspace(1e-7, 3, 32).astype(np.float32)
    expected = np.log1p(x.astype(np.float64)) + np.where(np.arange(32) < 31, np.arange(32) + 1, 0) + 1
    np.testing.assert_allclose(elementwise("mixture", source)(x), expected, rtol=1e-6)


ATTRIBUTES = {
    "thread_position_in_grid.x + 100 * thread_position_in_grid.y": lambda x, y: x + 100 * y,
    "thread_position_in_threadgroup.x": lambda x, y: x % 4,
    "thread_index_in_threadgroup": lambda x, y: x % 4 + 4 * (y % 2),
    "threadgroup_position_in_grid.x + 10 * threadgroup_position_in_grid.y": lambda x, y: (
        x // 4 + 10 * (y // 2)
    ),
    "threads_per_threadgroup.x * threads_per_threadgroup.y": lambda x, y: 8,
    "threads_per_grid.x * threads_per_grid.y": lambda x, y: 64,
    "threadgroups_per_grid.x * threadgroups_per_grid.y": lambda x, y: 8,
    "thread_index_in_simdgroup": lambda x, y: x % 4 + 4 * (y % 2),
    "threads_per_simdgroup": lambda x, y: 32,
    "thread_execution_width": lambda x, y: 32,
    "simdgroup_index_in_threadgroup": lambda x, y: 0,
    "simdgroups_per_threadgroup": lambda x, y: 1,
    "dispatch_simdgroups_per_threadgroup": lambda x, y: 1,
    "dispatch_threads_per_threadgroup.x": lambda x, y: 4,
    "quadgroup_index_in_threadgroup": lambda x, y: (x % 4 + 4 * (y % 2)) // 4,
    "quadgroups_per_threadgroup": lambda x, y: 2,
    "dispatch_quadgroups_per_threadgroup": lambda x, y: 2,
    "thread_index_in_quadgroup": lambda x, y: x % 4,
    "grid_size.x + 100 * grid_size.y": lambda x, y: 816,
    "grid_origin.x": lambda x, y: 0,
}


@pytest.mark.parametrize("expression", ATTRIBUTES)
def test_attributes_on_mention(expression):
    kernel = ingot.metal_kernel(
        "attribute", [], ["out"], f"uint3 at = thread_position_in_grid; out[at.y * 16 + at.x] = {expression};"
    )
    [out] = kernel(
        inputs=[], output_shapes=[(8, 16)], output_dtypes=["uint32"], grid=(16, 8, 1), threadgroup=(4, 2, 1)
    )
    x, y = np.meshgrid(np.arange(16), np.arange(8))
    if expression in (
        "threads_per_grid.x * threads_per_grid.y",
        "threadgroups_per_grid.x * threadgroups_per_grid.y",
    ):
        expected = np.full((8, 16), {"threads": 128, "threadgroups": 16}[expression.partition("_")[0]])
    else:
        expected = np.broadcast_to(ATTRIBUTES[expression](x, y), (8, 16))
    np.testing.assert_array_equal(out, expected)


def test_a_threadgroup_larger_than_the_grid_is_cut():
    kernel = ingot.metal_kernel("cut", ["a"], ["out"], "out[0] = threads_per_threadgroup.x;")
    [out] = kernel(
        inputs=[np.zeros((1, 1), np.float32)],
        output_shapes=[(1,)],
        output_dtypes=["uint32"],
        grid=(2, 1, 1),
        threadgroup=(256, 1, 1),
    )
    assert out[0] == 2


def test_atomic_outputs_and_init_value():
    kernel = ingot.metal_kernel(
        "histogram",
        ["x"],
        ["counts"],
        "atomic_fetch_add_explicit(&counts[x[thread_position_in_grid.x]], 1.0f, memory_order_relaxed);",
        atomic_outputs=True,
    )
    x = np.random.default_rng(4).integers(0, 10, 5000).astype(np.int32)
    [counts] = kernel(
        inputs=[x],
        output_shapes=[(10,)],
        output_dtypes=[np.float32],
        grid=(5000, 1, 1),
        threadgroup=(128, 1, 1),
        init_value=2,
    )
    np.testing.assert_array_equal(counts, np.bincount(x, minlength=10) + 2)


@pytest.mark.parametrize("like", [np.zeros(4, np.int32), torch.zeros(4, dtype=torch.int32)])
def test_init_value_stays_where_nothing_is_written(like):
    kernel = ingot.metal_kernel("touch", ["x"], ["out"], "out[1] = 5;")
    [out] = kernel(
        inputs=[like],
        output_shapes=[(3,)],
        output_dtypes=[like.dtype],
        grid=(1, 1, 1),
        threadgroup=(1, 1, 1),
        init_value=-1,
    )
    assert out.tolist() == [-1, 5, -1]


def test_an_empty_grid_runs_nothing():
    kernel = ingot.metal_kernel("nothing", ["x"], ["out"], "out[0] = 5;")
    for grid in ((0, 1, 1), (1, 0, 1), (1, 1, 0)):
        [out] = kernel(
            inputs=[np.zeros(2, np.float32)],
            output_shapes=[(1,)],
            output_dtypes=["float32"],
            grid=grid,
            threadgroup=(1, 1, 1),
            init_value=3,
        )
        assert out[0] == 3


def test_kernels_of_one_name_and_other_sources_are_apart():
    x = np.arange(32, dtype=np.float32)
    first = elementwise("same", "uint e = thread_position_in_grid.x; out[e] = inp[e] * 2.0f;")
    second = elementwise("same", "uint e = thread_position_in_grid.x; out[e] = inp[e] + 100.0f;")
    np.testing.assert_array_equal(first(x), x * 2)
    np.testing.assert_array_equal(second(x), x + 100)


def test_one_kernel_for_several_types():
    run = elementwise("many", "uint e = thread_position_in_grid.x; out[e] = inp[e] + inp[e];")
    for dtype in ("float32", "float16", "int32", "uint8"):
        x = np.arange(20).astype(dtype)
        np.testing.assert_array_equal(run(x), x + x)


@pytest.mark.parametrize("mode, expected", [(None, 0), ("safe", 0), ("relaxed", 0), ("fast", 1)])
def test_math_mode_reaches_the_compiler(mode, expected):
    source = """
        #if defined(__FAST_MATH__) && __FAST_MATH__
        out[0] = 1;
        #else
        out[0] = 0;
        #endif
    """
    kernel = ingot.metal_kernel("mode", [], ["out"], source, compile_options=mode and {"math_mode": mode})
    [out] = kernel(
        inputs=[], output_shapes=[(1,)], output_dtypes=["int32"], grid=(1, 1, 1), threadgroup=(1, 1, 1)
    )
    assert out[0] == expected


def test_verbose_prints_the_generated_source(capsys):
    run = elementwise(
        "shown",
        "uint i = thread_position_in_grid.x; T v = inp[i]; out[i] = v * inp_shape[0];",
        header="// my header\n",
    )
    run(np.ones((3, 4), np.float16), template=[("T", np.float32)], verbose=True)
    text = capsys.readouterr().out
    assert text.startswith("Generated source code for `shown`:\n```\n// my header\n")
    for line in (
        "template <typename T>",
        "[[kernel]] void custom_kernel_shown_float_float16_t_float16_t(",
        "  const device float16_t* inp [[buffer(0)]],",
        "  const constant int* inp_shape [[buffer(1)]],",
        "  device float16_t* out [[buffer(2)]],",
        "  uint3 thread_position_in_grid [[thread_position_in_grid]]) {",
        'template [[host_name("custom_kernel_shown_float_float16_t_float16_t")]] [[kernel]] '
        "decltype(custom_kernel_shown_float_float16_t_float16_t<float>) "
        "custom_kernel_shown_float_float16_t_float16_t<float>;",
    ):
        assert line in text.splitlines(), line


def test_numpy_and_torch_mixed_give_torch():
    kernel = ingot.metal_kernel(
        "mixed", ["a", "b"], ["out"], "uint i = thread_position_in_grid.x; out[i] = a[i] + b[i];"
    )
    [out] = kernel(
        inputs=[np.ones(16, np.float32), torch.ones(16)],
        output_shapes=[(16,)],
        output_dtypes=["bfloat16"],
        grid=(16, 1, 1),
        threadgroup=(16, 1, 1),
        stream="gpu",
    )
    assert out.dtype == torch.bfloat16 and torch.equal(out, torch.full((16,), 2, dtype=torch.bfloat16))


def test_a_tensor_that_requires_grad_is_read():
    out = elementwise("grad", COPY)(torch.arange(9.0, requires_grad=True))
    assert not out.requires_grad and out.tolist() == list(range(9))


def test_threadgroup_memory_and_barriers_in_the_body():
    source = """
        threadgroup float shared[64];
        uint i = thread_position_in_threadgroup.x;
        shared[i] = inp[thread_position_in_grid.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[thread_position_in_grid.x] = shared[63 - i];
    """
    kernel = ingot.metal_kernel("reverse", ["inp"], ["out"], source)
    x = np.arange(256, dtype=np.float32)
    [out] = kernel(
        inputs=[x], output_shapes=[x.shape], output_dtypes=[x.dtype], grid=(256, 1, 1), threadgroup=(64, 1, 1)
    )
    np.testing.assert_array_equal(out, x.reshape(4, 64)[:, ::-1].ravel())


GOOD_CALL = dict(
    inputs=[np.zeros(16, np.float32)],
    output_shapes=[(16,)],
    output_dtypes=[np.float32],
    grid=(16, 1, 1),
    threadgroup=(16, 1, 1),
)


@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"inputs": []}, ValueError, "`inputs` to have size 1 but got size 0"),
        ({"output_shapes": [(1,), (2,)]}, ValueError, "`output_shapes` to have size 1 but got size 2"),
        ({"output_dtypes": []}, ValueError, "`output_dtypes` to have size 1 but got size 0"),
        ({"inputs": np.zeros(3)}, TypeError, "`inputs` must be a list"),
        ({"inputs": [None]}, TypeError, "`inp` is a NoneType"),
        ({"inputs": [[1, 2]]}, TypeError, "`inp` is a list"),
        ({"inputs": [np.zeros(3)]}, TypeError, "`inp` is float64"),
        ({"inputs": [np.zeros(3, ">f4")]}, TypeError, "byte order"),
        ({"inputs": [torch.zeros(3, device="meta")]}, TypeError, "meta"),
        ({"inputs": [torch.zeros(3).to_sparse()]}, TypeError, "sparse"),
        ({"inputs": [2**70]}, ValueError, "64 bits"),
        ({"output_dtypes": ["float64"]}, TypeError, "float64"),
        ({"output_dtypes": [object()]}, TypeError, "not a dtype"),
        ({"output_dtypes": ["bfloat16"]}, TypeError, "NumPy has no bfloat16"),
        ({"output_shapes": [(-1,)]}, ValueError, "negative"),
        ({"output_shapes": [3]}, TypeError, "not a shape"),
        ({"grid": (16, 1)}, TypeError, "`grid` must have 3"),
        ({"grid": (1.5, 1, 1)}, TypeError, "`grid`"),
        ({"grid": None}, TypeError, "`grid`"),
        ({"grid": (-1, 1, 1)}, ValueError, "-1"),
        ({"threadgroup": (0, 1, 1)}, ValueError, "`threadgroup`"),
        ({"threadgroup": (2048, 1, 1)}, ValueError, r"\(2048\) is greater than .* \(1024\)"),
        ({"template": [("T", 1.5)]}, ValueError, "T=1.5"),
        ({"template": [("T", object())]}, ValueError, "dtype"),
        ({"template": [("T", 2**40)]}, ValueError, "does not fit in an int"),
    ],
)
def test_wrong_calls(change, error, words):
    kernel = ingot.metal_kernel("wrong", ["inp"], ["out"], COPY)
    with pytest.raises(error, match=words):
        kernel(**{**GOOD_CALL, **change})


def test_calls_without_grid_or_with_positions():
    kernel = ingot.metal_kernel("wrong", ["inp"], ["out"], COPY)
    with pytest.raises(TypeError, match="grid"):
        kernel(**{k: v for k, v in GOOD_CALL.items() if k != "grid"})
    with pytest.raises(TypeError):
        kernel([np.zeros(3, np.float32)])


@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"output_names": []}, ValueError, "at least one output"),
        ({"input_names": "inp"}, TypeError, "`input_names` must be a list"),
        ({"input_names": ["a b"]}, ValueError, "not an identifier"),
        ({"output_names": ["inp"]}, ValueError, "two arguments"),
        ({"source": None}, TypeError, "`source` must be a str"),
        ({"header": b""}, TypeError, "`header` must be a str"),
        ({"name": "a-b"}, ValueError, "a-b"),
        ({"compile_options": {"math_mode": "precise"}}, ValueError, "math_mode"),
        ({"compile_options": {"speed": "high"}}, ValueError, "speed"),
        ({"compile_options": "fast"}, ValueError, "dict"),
    ],
)
def test_wrong_definitions(change, error, words):
    good = dict(name="wrong", input_names=["inp"], output_names=["out"], source=COPY)
    with pytest.raises(error, match=words):
        ingot.metal_kernel(**{**good, **change})


def test_compile_errors_name_the_line_of_the_body():
    run = elementwise("broken", "uint i = thread_position_in_grid.x;\nout[i] = undefined_thing;\n")
    with pytest.raises(SyntaxError, match="metal_kernel broken:2:10: .*undefined_thing") as caught:
        run(np.zeros(16, np.float32))
    assert isinstance(caught.value, RuntimeError)  # as MLX raises
    assert "out[i] = undefined_thing;\n         ^" in str(caught.value)


def test_mlx_arrays_and_its_own_call():
    mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
    import ingot.mlx

    x = mx.random.normal((4, 6))
    for dtype in (mx.float32, mx.bfloat16, mx.float16):
        kernel = ingot.metal_kernel(
            "mlx", ["inp"], ["out"], "uint i = thread_position_in_grid.x; out[i] = inp[i] + 1;"
        )
        [out] = kernel(
            inputs=[x.astype(dtype)],
            output_shapes=[x.shape],
            output_dtypes=[dtype],
            grid=(24, 1, 1),
            threadgroup=(24, 1, 1),
        )
        assert isinstance(out, mx.array) and out.dtype == dtype
        assert mx.array_equal(out, x.astype(dtype) + 1)
    original = mx.fast.metal_kernel
    ingot.mlx.enable()
    try:
        assert mx.fast.metal_kernel is ingot.metal_kernel and mx.metal.is_available()
    finally:
        ingot.mlx.disable()
    assert mx.fast.metal_kernel is original


def test_mlx_devices_when_the_default_one_is_the_gpu():
    mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
    import ingot.mlx

    ingot.mlx.enable(default_device=True)
    try:
        assert mx.default_device() == mx.gpu and mx.is_available(mx.gpu)
        mx.synchronize(mx.default_stream(mx.default_device()))
        with mx.stream(mx.gpu):
            assert mx.array_equal(mx.ones((3,)) + 1, mx.full((3,), 2.0, stream=mx.new_stream(mx.gpu)))
        mx.set_default_device(mx.cpu)
        assert mx.default_device() == mx.cpu
        mx.set_default_device(mx.gpu)
        assert mx.default_device() == mx.gpu
    finally:
        ingot.mlx.disable()
    with pytest.raises(ValueError, match="gpu"):
        mx.default_stream(mx.gpu)
