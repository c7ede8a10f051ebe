"""quantised_matvec in torch, for bench/torch_compare.py."""
from torch_case import float_product

TORCH = {"quantised_matvec": float_product}
