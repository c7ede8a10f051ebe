"""compile_shader with torch's call model: threads, groups, numbers, casts, lists, errors."""
import copy
import inspect
import pickle

import numpy as np
import pytest

import ingot

torch = pytest.importorskip("torch")

SOURCE = """
#include <metal_stdlib>
using namespace metal;
struct Pair { float scale; int offset; };
struct Inputs { array<device float *, 3> items; };

kernel void arange(device float* x, uint i [[thread_position_in_grid]]) { x[i] = i; }
kernel void grid(device uint* x, uint3 i [[thread_position_in_grid]], uint3 n [[threads_per_grid]],
                 uint3 g [[dispatch_threads_per_threadgroup]]) {
    uint at = (i.z * n.y + i.y) * n.x + i.x;
    x[4 * at] = at; x[4 * at + 1] = g.x; x[4 * at + 2] = g.y; x[4 * at + 3] = g.z;
}
kernel void axpy(device float* y, device const float* x, constant float& a, uint i [[thread_position_in_grid]]) {
    y[i] += a * x[i];
}
kernel void take_int(device long* out, constant int& n) { out[0] = n; }
kernel void take_uint(device long* out, constant uint& n) { out[0] = n; }
kernel void take_char(device long* out, constant char& n) { out[0] = n; }
kernel void take_bool(device long* out, constant bool& n) { out[0] = n ? 1 : 0; }
kernel void take_long(device long* out, constant long& n) { out[0] = n; }
kernel void take_ulong(device ulong* out, constant ulong& n) { out[0] = n; }
kernel void take_half(device float* out, constant half& n) { out[0] = n; }
kernel void take_float(device float* out, constant float& n) { out[0] = n; }
kernel void take_half2(device float* out, constant half2& n) { out[0] = n.x; out[1] = n.y; }
kernel void take_int4(device long* out, constant int4& n) { for (int i = 0; i < 4; i++) out[i] = n[i]; }
kernel void take_uint3(device long* out, constant uint3& n) { for (int i = 0; i < 3; i++) out[i] = n[i]; }
kernel void take_longs(device long* out, constant long* n) { out[0] = n[0] + n[1] + n[2]; }
kernel void take_floats(device float* out, constant float* n) { out[0] = n[0] + n[1] + n[2]; }
kernel void sum_inputs(device float* out, constant Inputs& in, uint i [[thread_position_in_grid]]) {
    out[i] = in.items[0][i] + in.items[1][i] + in.items[2][i];
}
"""


@pytest.fixture(scope="module")
def lib():
    return ingot.compile_shader(SOURCE)


def number_of(kernel, value, dtype=None, count=1, **options):
    """What the kernel saw of the number."""
    out = torch.zeros(count, dtype=dtype or torch.int64)
    kernel(out, value, threads=1, **options)
    return out.tolist() if count > 1 else out.item()


# ---- libraries ----


def test_dir_lists_the_kernels_and_nothing_else():
    lib = ingot.compile_shader("kernel void b(device int* x) {}\nkernel void a(device int* x) {}")
    assert set(dir(lib)) == {"a", "b"}


def test_unknown_kernel_is_a_runtime_error_that_names_it(lib):
    with pytest.raises(RuntimeError, match="no kernel 'absent'.*arange"):
        lib.absent
    with pytest.raises(RuntimeError, match="absent"):
        lib["absent"]


def test_special_names_are_attribute_errors(lib):
    assert not hasattr(lib, "__wrapped__")
    assert not hasattr(lib, "__array_interface__")
    assert inspect.unwrap(lib) is lib
    for make in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            make(lib)


def test_a_kernel_is_the_same_object_each_time(lib):
    assert lib.arange is lib.arange
    assert lib["arange"] is lib.arange


def test_kernels_named_like_methods_win():
    lib = ingot.compile_shader("kernel void close(device int* x) { x[0] = 7; }")
    x = torch.zeros(1, dtype=torch.int32)
    lib.close(x)
    assert x.item() == 7


def test_warnings_are_errors_on_request():
    source = "kernel void k(device float *x) { float *p = x; p[0] = 1; }"
    assert ingot.compile_shader(source).k is not None
    with pytest.raises(SyntaxError, match=r"1:40: error: Apple's compiler wants the address space"):
        ingot.compile_shader(source, werror=True)


def test_syntax_error_shows_the_line():
    with pytest.raises(SyntaxError, match=r"mine\.metal:2:.*"):
        ingot.compile_shader("\nkernel void broken(device int* x) { x[0] = ; }", name="mine.metal")


@pytest.mark.parametrize("source", [None, 3, b"kernel void k() {}", ["kernel"]])
def test_source_that_is_no_string(source):
    with pytest.raises(TypeError, match="source has to be a string"):
        ingot.compile_shader(source)


def test_source_with_a_lone_surrogate():
    with pytest.raises(UnicodeEncodeError):
        ingot.compile_shader("// \ud800\nkernel void k(device int* x) {}")


def test_metal_names_need_no_include():
    lib = ingot.compile_shader("kernel void k(device float* x) { x[0] = metal::sqrt(x[0]); }")
    x = torch.full((1,), 9.0)
    lib.k(x)
    assert x.item() == 3


def test_torch_headers_are_found():
    lib = ingot.compile_shader(
        "#include <c10/metal/special_math.h>\nkernel void k(device float* x) { x[0] = c10::metal::erf(x[0]); }"
    )
    x = torch.full((1,), 0.5)
    lib.k(x)
    assert abs(x.item() - 0.5204999) < 1e-5


def test_compile_options(tmp_path):
    (tmp_path / "mine.h").write_text("constant int included = 40;\n")
    source = """
#include "mine.h"
kernel void k(device int* x) { x[0] = included + EXTRA; x[1] = __METAL_VERSION__; x[2] = FLAG; }
"""
    lib = ingot.compile_shader(source, include_dirs=[tmp_path], defines={"EXTRA": 2, "FLAG": True}, msl_version="3.1")
    x = torch.zeros(3, dtype=torch.int32)
    lib.k(x)
    assert x.tolist() == [42, 310, 1]
    (tmp_path / "mine.h").write_text("constant int included = 50;\n")
    ingot.compile_shader(source, include_dirs=[tmp_path], defines={"EXTRA": 2, "FLAG": 1}).k(x)
    assert x[0].item() == 52, "an included file that changed is compiled again"


@pytest.mark.parametrize("variable, option, expected", [(None, None, 0), ("1", None, 1), ("1", False, 0),
                                                        (None, True, 1)])
def test_fast_maths_follows_the_variable_unless_asked_for(monkeypatch, variable, option, expected):
    if variable is None:
        monkeypatch.delenv("PYTORCH_MPS_FAST_MATH", raising=False)
    else:
        monkeypatch.setenv("PYTORCH_MPS_FAST_MATH", variable)
    library = ingot.compile_shader("""
        #if defined(__FAST_MATH__) && __FAST_MATH__
        #define FAST 1
        #else
        #define FAST 0
        #endif
        kernel void is_fast(device int& out) { out = FAST; }
        """, fast_math=option)
    out = torch.full((1,), 7, dtype=torch.int32)
    library.is_fast(out)
    assert out.item() == expected


def test_bad_compile_options():
    with pytest.raises(ValueError, match="msl_version"):
        ingot.compile_shader("", msl_version="three")
    with pytest.raises(ValueError, match="contiguous"):
        ingot.compile_shader("", contiguous="maybe")
    with pytest.raises(ValueError, match="device"):
        ingot.compile_shader("", device="cuda")
    with pytest.raises(TypeError, match="defines"):
        ingot.compile_shader("", defines="A=1")


def test_source_without_kernels():
    assert dir(ingot.compile_shader("")) == []


def test_properties(lib):
    kernel = lib.arange
    assert kernel.max_threads_per_threadgroup == 1024
    assert kernel.thread_execution_width == 32
    assert kernel.static_thread_group_memory_length == 0
    assert kernel.name == "arange"


def test_arguments_property(lib):
    y, x, a = lib.axpy.arguments
    assert (y.index, y.name, y.type, y.size, y.kind) == (0, "y", "float", 4, "buffer")
    assert (y.space, y.writable) == ("device", True)
    assert (x.space, x.writable, x.reference) == ("device", False, False)
    assert (a.index, a.name, a.space, a.writable, a.reference, a.active) == (2, "a", "constant", False, True, True)


# ---- grids ----


def test_threads_default_to_the_first_tensor(lib):
    x = torch.full((3, 5), -1.0)
    lib.arange(x)
    assert x.flatten().tolist() == list(range(15))


def test_default_threads_that_reach_past_a_tensor(lib):
    narrow = torch.zeros(64, dtype=torch.int8)
    with pytest.raises(RuntimeError, match=r"argument 0 \"x\": a thread for each of 64 .*1 byte;.*give threads"):
        lib.arange(narrow)
    with pytest.raises(RuntimeError, match=r"argument 1 \"x\".*2 bytes"):
        lib.axpy(torch.zeros(64), torch.zeros(64, dtype=torch.float16), 1.0)
    lib.arange(narrow, threads=16)  # the caller's word
    assert narrow.view(torch.float32).tolist() == list(range(16))
    lib.arange(torch.zeros(8, dtype=torch.int32))  # as large
    lib.arange(torch.zeros(8, dtype=torch.int64))  # larger


@pytest.mark.parametrize("threads, expected", [(5, (5, 1, 1)), (2000, (1024, 1, 1))])
def test_group_of_one_dimension(lib, threads, expected):
    x = torch.zeros(4 * threads, dtype=torch.int32)
    lib.grid(x, threads=threads)
    x = x.view(-1, 4)
    assert x[:, 0].tolist() == list(range(threads))
    assert tuple(x[0, 1:].tolist()) == expected


@pytest.mark.parametrize("threads", [(3, 4), [2, 3, 4], (1, 5), torch.Size([2, 2])])
def test_group_of_more_dimensions(lib, threads):
    count = int(np.prod(threads))
    x = torch.zeros(4 * count, dtype=torch.int32)
    lib.grid(x, threads=threads)
    x = x.view(-1, 4)
    assert x[:, 0].tolist() == list(range(count))
    assert x[0, 1:].tolist() == [1024, 1, 1]


def test_group_size_given(lib):
    x = torch.zeros(4 * 60, dtype=torch.int32)
    lib.grid(x, threads=(6, 10), group_size=(4, 2))
    assert x.view(-1, 4)[7].tolist() == [7, 4, 2, 1]


def test_group_over_the_limit_is_a_value_error(lib):
    x = torch.zeros(3)
    with pytest.raises(ValueError, match="1029.*limit of 1024"):
        lib.arange(x, group_size=1029)
    with pytest.raises(ValueError, match="3 x 1024 x 1 = 3072.*1024"):
        lib.arange(x, threads=(3, 1024), group_size=(3, 1024))
    with pytest.raises(ValueError, match="no threads"):
        lib.arange(x, group_size=0)


def test_group_of_another_rank(lib):
    with pytest.raises(RuntimeError, match="group_size has 1 dimensions, but threads has 2"):
        lib.arange(torch.zeros(4), threads=(2, 2), group_size=2)


def test_no_tensor_and_no_threads(lib):
    with pytest.raises(RuntimeError, match="number of threads"):
        lib.take_float(None, 2.0)


@pytest.mark.parametrize("threads", [-1, (2, -3), 2**32, 2**70, (), (1, 1, 1, 1)])
def test_impossible_threads(lib, threads):
    with pytest.raises(RuntimeError, match="threads"):
        lib.arange(torch.zeros(4), threads=threads)


@pytest.mark.parametrize("threads", [1.5, "4", (1, None), {1: 2}, object()])
def test_threads_of_another_type(lib, threads):
    with pytest.raises(TypeError, match="threads"):
        lib.arange(torch.zeros(4), threads=threads)


def test_numpy_integers_as_threads(lib):
    x = torch.zeros(4)
    lib.arange(x, threads=np.int64(3))
    assert x.tolist() == [0, 1, 2, 0]


def test_nothing_to_do(lib):
    lib.arange(torch.zeros(0))
    x = torch.zeros(4)
    lib.arange(x, threads=0)
    lib.arange(x, threads=(4, 0))
    assert x.sum() == 0


def test_unknown_keyword(lib):
    with pytest.raises(TypeError, match="no keyword 'thread'"):
        lib.arange(torch.zeros(4), thread=4)


# ---- numbers ----


def test_numbers_of_the_declared_type(lib):
    assert number_of(lib.take_float, 2.5, torch.float32) == 2.5
    assert number_of(lib.take_long, -(2**40)) == -(2**40)
    assert number_of(lib.take_ulong, 7, torch.int64) == 7
    assert number_of(lib.take_ulong, 2**63, torch.int64) == -(2**63)


@pytest.mark.parametrize("kernel, value", [
    ("take_int", -7), ("take_int", 2**31 - 1), ("take_uint", 2**32 - 1), ("take_char", -128), ("take_bool", True),
])
def test_one_int_is_narrowed_when_it_fits(lib, kernel, value):
    assert number_of(lib[kernel], value) == value


@pytest.mark.parametrize("kernel, value, kind", [
    ("take_int", 2**31, "int"), ("take_uint", -1, "uint"), ("take_char", 128, "char"), ("take_bool", 2, "bool"),
])
def test_an_int_that_does_not_fit_is_named(lib, kernel, value, kind):
    with pytest.raises(RuntimeError, match=f'argument 1 "n": {value} does not fit {kind}'):
        number_of(lib[kernel], value)


def test_an_int_of_more_than_64_bits(lib):
    with pytest.raises(RuntimeError, match="does not fit 64 bits"):
        number_of(lib.take_long, 2**64)


def test_int_for_float_and_float_for_int(lib):
    with pytest.raises(RuntimeError, match='"a": an int.*8 bytes.*float of 4 bytes'):
        lib.axpy(torch.zeros(2), torch.zeros(2), 3)
    with pytest.raises(RuntimeError, match='"n": float of 4 bytes.*int of 4 bytes'):
        number_of(lib.take_int, 3.0)


def test_float_for_half_hints_at_the_cast(lib):
    with pytest.raises(RuntimeError, match='float of 4 bytes.*half of 2 bytes.*arg_casts={1: "fp16"}'):
        number_of(lib.take_half, 3.0, torch.float32)
    assert number_of(lib.take_half, 3.14, torch.float32, arg_casts={1: "fp16"}) == pytest.approx(3.14, abs=1e-3)


def test_lists_of_numbers(lib):
    assert number_of(lib.take_longs, [1, 2, 3]) == 6
    assert number_of(lib.take_floats, (1.0, 2.0, 3), torch.float32) == 6
    assert number_of(lib.take_half2, [3.0, 0.5], torch.float32, count=2, arg_casts="fp16") == [3.0, 0.5]
    assert number_of(lib.take_int4, [1, 2, 3, 4], count=4, arg_casts={1: "int32"}) == [1, 2, 3, 4]


def test_ints_for_narrower_integers_are_caught(lib):
    with pytest.raises(RuntimeError, match=r'32 bytes were given \(4 x int.*int4 of 16 bytes.*arg_casts={1: "int32"}'):
        number_of(lib.take_int4, [1, 2, 3, 4], count=4)


def test_twelve_bytes_for_a_uint3_are_caught(lib):
    with pytest.raises(RuntimeError, match="12 bytes were given, but type uint3 has 16"):
        number_of(lib.take_uint3, [1, 2, 3], count=3, arg_casts="int32")
    assert number_of(lib.take_uint3, [1, 2, 3, 0], count=3, arg_casts="int32") == [1, 2, 3]


def test_casts(lib):
    assert number_of(lib.take_char, 200, arg_casts={1: "int8"}) == -56
    assert number_of(lib.take_uint, -1, arg_casts={1: "int32"}) == 2**32 - 1
    assert number_of(lib.take_int, 3.9, arg_casts={1: "int32"}) == 3
    with pytest.raises(RuntimeError, match="does not fit the 8 bits"):
        number_of(lib.take_char, 300, arg_casts={1: "int8"})
    with pytest.raises(RuntimeError, match="half of 2 bytes.*float"):
        number_of(lib.take_float, 1.0, torch.float32, arg_casts="fp16")
    with pytest.raises(RuntimeError, match="'fp8' is not a cast"):
        number_of(lib.take_float, 1.0, torch.float32, arg_casts="fp8")
    with pytest.raises(RuntimeError, match="arg_casts has to be a string or a dictionary"):
        number_of(lib.take_float, 1.0, torch.float32, arg_casts=3)


@pytest.mark.parametrize("value", [[], (), [1, "a"], ["a"], [1, 2.5], [None]])
def test_bad_lists(lib, value):
    with pytest.raises(RuntimeError, match="argument 1"):
        number_of(lib.take_longs, value)


@pytest.mark.parametrize("value", ["text", b"bytes", {1: 2}, object(), 1j, int, np.ndarray, lambda: 0])
def test_other_types_are_refused(lib, value):
    with pytest.raises(RuntimeError, match="argument 1") as caught:
        number_of(lib.take_longs, value)
    assert isinstance(caught.value, TypeError)


# ---- 0-dim tensors ----


def test_zero_dim_tensors_are_numbers(lib):
    y, x = torch.zeros(3), torch.ones(3)
    lib.axpy(y, x, torch.tensor(2.0))
    lib.axpy(y, x, torch.tensor(0.5, dtype=torch.float64))
    lib.axpy(y, x, np.float32(1))
    lib.axpy(y, x, np.float64(1))
    assert y.tolist() == [4.5, 4.5, 4.5]
    assert number_of(lib.take_int, torch.tensor(5)) == 5
    assert number_of(lib.take_int, torch.tensor(5, dtype=torch.int32)) == 5
    assert number_of(lib.take_half, torch.tensor(0.5, dtype=torch.half), torch.float32) == 0.5
    with pytest.raises(RuntimeError, match="2 bytes.*float of 4 bytes"):
        lib.axpy(y, x, torch.tensor(1.0, dtype=torch.half))


def test_a_zero_dim_tensor_can_be_an_output(lib):
    out = torch.tensor(0.0)
    lib.take_float(out, 4.0)
    assert out.item() == 4


# ---- argument buffers ----


def test_list_of_tensors(lib):
    inputs = torch.rand(3, 32).unbind(0)
    out = torch.zeros(32)
    lib.sum_inputs(out, inputs)
    assert torch.equal(out, inputs[0] + inputs[1] + inputs[2])
    lib.sum_inputs(out, [np.ones(32, np.float32)] * 3)
    assert out.sum() == 96


def test_argument_buffer_of_another_size(lib):
    with pytest.raises(RuntimeError, match="16 bytes were given, but type Inputs has 24"):
        lib.sum_inputs(torch.zeros(4), [torch.zeros(4)] * 2)


# ---- validation ----


def test_missing_and_surplus_arguments(lib):
    with pytest.raises(RuntimeError, match='argument 2 "a" of type float is missing'):
        lib.axpy(torch.zeros(2), torch.zeros(2))
    with pytest.raises(RuntimeError, match='argument 1 "x".*missing'):
        lib.axpy(torch.zeros(2), None, 1.0)
    with pytest.raises(RuntimeError, match="buffer index 1.*highest index is 0"):
        lib.arange(torch.zeros(2), 1.0)
    with pytest.raises(RuntimeError, match="65 arguments"):
        lib.arange(*[torch.zeros(2)] * 65)


def test_indices_that_the_kernel_leaves_out():
    lib = ingot.compile_shader("kernel void k(device float* x, constant float& a [[buffer(3)]]) { x[0] = a; }")
    x = torch.zeros(1)
    lib.k(x, 0, torch.zeros(5), 2.0)
    assert x.item() == 2
    lib.k(x, None, None, 3.0)
    assert x.item() == 3


def test_a_buffer_smaller_than_its_type(lib):
    with pytest.raises(RuntimeError, match='"n": the buffer has 4 bytes.*type int4 has 16'):
        lib.take_int4(torch.zeros(4, dtype=torch.int64), torch.zeros(1, dtype=torch.int32), threads=1)


def test_errors_carry_their_status(lib):
    with pytest.raises(ingot.Error) as caught:
        lib.axpy(torch.zeros(2))
    assert caught.value.status == "INGOT_LAUNCH_ERROR"
    assert isinstance(caught.value, RuntimeError)


def test_out_of_bounds_is_an_error_that_names_the_kernel():
    lib = ingot.compile_shader("kernel void stray(device float* x) { x[1ul << 40] = 1; }")
    with pytest.raises(RuntimeError, match='kernel "stray".*SIGSEGV'):
        lib.stray(torch.zeros(4), threads=1)


def test_tensors_without_elements_can_be_arguments(lib):
    y = torch.zeros(2)
    with pytest.raises(RuntimeError, match='kernel "axpy".*argument 1 "x"'):
        lib.axpy(y, torch.zeros(0), 1.0)


def test_strict_libraries_refuse_what_works_by_luck():
    lib = ingot.compile_shader(SOURCE, strict=True)
    with pytest.raises(RuntimeError, match="8 bytes were given.*int of 4 bytes"):
        number_of(lib.take_int, 3)
    assert number_of(lib.take_int, 3, arg_casts={1: "int32"}) == 3
    with pytest.raises(RuntimeError, match='"x": half of 2 bytes.*float of 4 bytes'):
        lib.arange(torch.zeros(4, dtype=torch.half))


def test_strict_by_environment(monkeypatch):
    monkeypatch.setenv("INGOT_STRICT", "1")
    with pytest.raises(RuntimeError, match="8 bytes were given"):
        number_of(ingot.compile_shader(SOURCE).take_int, 3)
