"""attention_backward in torch, for bench/torch_compare.py."""
from torch_case import gradients
from attention_bench import attention_inputs


def attention_backward(c):
    import torch.nn.functional as F
    inputs, extra = attention_inputs(c)
    return gradients(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **extra), list(inputs), c.make("dout"))


TORCH = {"attention_backward": attention_backward}
GPU_SANITIZER_PARTS = {"attention_backward": 1}
