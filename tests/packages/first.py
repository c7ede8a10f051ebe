"""A first kernel from Python, and an operation."""
import numpy

import ingot

x = numpy.ones(1000, numpy.float32)
library = ingot.compile_shader("""
#include <metal_stdlib>
kernel void scale(device float *x, constant float &by, uint i [[thread_position_in_grid]]) { x[i] *= by; }
""")
library.scale(x, 2.0)
assert (x == 2).all(), x
print("the first kernel ran:", ingot.__version__)
