"""ingot.load_metallib on libraries as Apple's compiler makes them (tests/air makes them in the build folder)."""

import pytest
import torch

import ingot


def test_kernels_are_compiled_when_they_are_asked_for(compiled_library):
    path = compiled_library("vectors")
    x = torch.arange(16, dtype=torch.float32) - 6
    for source in (path, path.read_bytes()):
        library = ingot.load_metallib(source)
        assert "vectors" in dir(library)
        out = torch.zeros(24)
        library.vectors(x, out, threads=4, group_size=4)
        torch.testing.assert_close(out[:16], x.abs())
        torch.testing.assert_close(out[16:20], (x * x).reshape(4, 4).sum(1))


def test_arrays_of_stated_length(compiled_library):
    library = ingot.load_metallib(compiled_library("arrays"))
    x, out = torch.arange(64, dtype=torch.float32), torch.zeros(6)
    library.strided(x, out, [2, 1, 50], threads=6, group_size=6)  # three long values as bytes
    assert out.tolist() == [52, 54, 56, 58, 60, 62]


def test_libraries_inside_other_files(compiled_library, tmp_path):
    image = tmp_path / "libkernels.dylib"
    image.write_bytes(b"\xcf\xfa\xed\xfe" + bytes(500) + compiled_library("lanes").read_bytes() + b"end"
                      + compiled_library("vectors").read_bytes())
    assert {"lanes", "vectors"} <= set(dir(ingot.load_metallib(image)))


def test_what_is_not_there_is_named(compiled_library):
    library = ingot.load_metallib(compiled_library("refused"))
    assert "draws" not in dir(library)  # a vertex function
    for kernel, reason in (("reads_texture", "textures and samplers are"), ("calls_unknown", "air.frobnicate.f32")):
        with pytest.raises((RuntimeError, SyntaxError), match=reason):
            getattr(library, kernel)(torch.zeros(4), threads=1, group_size=1)


def test_damaged_libraries(compiled_library):
    good = compiled_library("vectors").read_bytes()
    for bad in (good[:100], good[:-1], good.replace(b"ENDT", b"XXXX", 1)):
        with pytest.raises(RuntimeError):
            ingot.load_metallib(bad)
    altered = bytearray(good)
    altered[-200:-100] = bytes(100)  # within the bitcode: LLVM refuses it, or verifies what is left
    with pytest.raises(RuntimeError):
        ingot.load_metallib(bytes(altered)).vectors(torch.zeros(16), torch.zeros(24), threads=4, group_size=4)
