"""attention_decode in torch, for bench/torch_compare.py."""
from attention_bench import attention

TORCH = {"attention_decode": attention}
