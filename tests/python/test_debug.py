"""Kernels that run thread by thread (INGOT_DEBUG=1)."""

import os
import subprocess
import sys

SIZES = '''
import ingot, numpy
library = ingot.compile_shader("""
#include <metal_stdlib>
using namespace metal;
template <int> kernel void turn(device uint *y, uint t [[thread_index_in_threadgroup]],
                                uint size [[threads_per_threadgroup]]) {
    threadgroup uint words[128];
    words[t] = t;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = words[size - 1 - t];
}
template [[host_name("one")]] kernel void turn<1>(device uint *, uint, uint);
template [[host_name("several")]] kernel void turn<2>(device uint *, uint, uint);
""")
for size in (64, 96, 128):
    for kernel, threads in (library.one, 32), (library.several, size):
        y = numpy.zeros(threads, numpy.uint32)
        kernel(y, threads=threads, group_size=threads)
        assert (y == numpy.arange(threads)[::-1]).all(), y
print("right")
'''


def test_threadgroups_of_other_sizes() -> None:
    """A launch of one SIMD-group, then one of several: lanes of the second start anew."""
    done = subprocess.run(
        [sys.executable, "-c", SIZES], env={**os.environ, "INGOT_DEBUG": "1"}, capture_output=True, text=True
    )
    assert done.stdout == "right\n", done.stderr
