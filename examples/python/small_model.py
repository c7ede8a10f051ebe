"""A small language model over bytes, for the scripts beside it: RMS norm, rotary attention, SwiGLU.

Its operations are functions that can be exchanged: TORCH is plain PyTorch, as most models are written;
`ingot_functions()` is the same by ingot.ops. Parameters have the same names and values in both.
"""
import dataclasses
import pathlib
import sys
import types

import torch
import torch.nn.functional as F
from torch import nn


OPERATORS = sys.platform != "darwin"  # on a Mac there is compile_shader, but ingot's operators are not there yet


@dataclasses.dataclass
class Config:
    """Sizes of the model."""
    layers: int = 2
    width: int = 128
    heads: int = 4
    hidden: int = 384
    vocabulary: int = 256
    context: int = 64


def torch_rope(x: torch.Tensor, offset: int = 0) -> torch.Tensor:
    """Rotary embedding of (batch, heads, length, dimensions), dimension d turned with d + D/2."""
    half = x.shape[-1] // 2
    angle = torch.outer(torch.arange(x.shape[-2], device=x.device) + offset,
                        10000.0 ** (-torch.arange(half, device=x.device) / half))
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


def torch_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Causal attention; a single query is the newest token and sees every key."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[-2] > 1)


TORCH = types.SimpleNamespace(
    rope=torch_rope,
    attention=torch_attention,
    silu_mul=lambda gate, up: F.silu(gate) * up,
    cross_entropy=F.cross_entropy,
)


def ingot_functions() -> types.SimpleNamespace:
    """The same functions by ingot's operators."""
    import ingot

    return types.SimpleNamespace(
        rope=lambda x, offset=0: ingot.ops.rope(x, offset=offset),
        attention=lambda q, k, v: ingot.ops.attention(q, k, v, causal=True),
        silu_mul=ingot.ops.silu_mul,
        cross_entropy=ingot.ops.cross_entropy,
    )


class Attention(nn.Module):
    """Self-attention with rotary positions and, for decoding, a cache of keys and values."""

    def __init__(self, config: Config, functions: types.SimpleNamespace) -> None:
        super().__init__()
        self.heads, self.functions = config.heads, functions
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.out = nn.Linear(config.width, config.width, bias=False)

    def forward(self, x: torch.Tensor, cache: "Cache | None" = None, layer: int = 0) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        offset = cache.length if cache else 0
        q, k = self.functions.rope(q, offset), self.functions.rope(k, offset)
        if cache:
            k, v = cache.extend(layer, k, v)
        return self.out(self.functions.attention(q, k, v).transpose(1, 2).reshape(batch, length, width))


class SwiGLU(nn.Module):
    """The feed-forward part: down(silu(gate(x)) · up(x))."""

    def __init__(self, config: Config, functions: types.SimpleNamespace) -> None:
        super().__init__()
        self.functions = functions
        self.gate_proj = nn.Linear(config.width, config.hidden, bias=False)
        self.up_proj = nn.Linear(config.width, config.hidden, bias=False)
        self.down_proj = nn.Linear(config.hidden, config.width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(self.functions.silu_mul(self.gate_proj(x), self.up_proj(x)))


class Block(nn.Module):
    """One layer."""

    def __init__(self, config: Config, functions: types.SimpleNamespace, norm: type) -> None:
        super().__init__()
        self.norm1, self.norm2 = norm(config.width, eps=1e-6), norm(config.width, eps=1e-6)
        self.attention = Attention(config, functions)
        self.mlp = SwiGLU(config, functions)

    def forward(self, x: torch.Tensor, cache: "Cache | None" = None, layer: int = 0) -> torch.Tensor:
        x = x + self.attention(self.norm1(x), cache, layer)
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """Bytes in, scores of the next byte out."""

    def __init__(self, config: Config, functions: types.SimpleNamespace = TORCH, norm: type = nn.RMSNorm) -> None:
        super().__init__()
        self.config, self.functions = config, functions
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList(Block(config, functions, norm) for _ in range(config.layers))
        self.norm = norm(config.width, eps=1e-6)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor, cache: "Cache | None" = None) -> torch.Tensor:
        x = self.embedding(tokens)
        for layer, block in enumerate(self.blocks):
            x = block(x, cache, layer)
        if cache:
            cache.length += tokens.shape[1]
        return self.head(self.norm(x))

    def loss(self, tokens: torch.Tensor) -> torch.Tensor:
        """The mean loss of predicting every token but the first."""
        scores = self(tokens[:, :-1])
        return self.functions.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())


class Cache:
    """Keys and values of the tokens so far, in memory for `limit` tokens."""

    def __init__(self, config: Config, batch: int, limit: int, device: str = "cpu") -> None:
        shape = (config.layers, batch, config.heads, limit, config.width // config.heads)
        self.keys, self.values = torch.zeros(shape, device=device), torch.zeros(shape, device=device)
        self.length = 0

    def extend(self, layer: int, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Puts new keys and values at the end, and returns all of the layer."""
        end = self.length + k.shape[2]
        if end > self.keys.shape[3]:
            raise ValueError(f"the cache has room for {self.keys.shape[3]} tokens, and this is number {end}")
        self.keys[layer, :, :, self.length:end] = k
        self.values[layer, :, :, self.length:end] = v
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]


@torch.no_grad()
def generate(model: Transformer, prompt: bytes, count: int, device: str = "cpu") -> bytes:
    """Continues a text by the likeliest bytes, one at a time."""
    cache = Cache(model.config, 1, len(prompt) + count, device)
    tokens = torch.tensor([list(prompt)], device=device)
    made = bytearray()
    for _ in range(count):
        tokens = model(tokens, cache)[:, -1:].argmax(-1)
        made.append(tokens.item())
    return bytes(made)


class Text:
    """The repository's own documents as training text."""

    def __init__(self, device: str = "cpu") -> None:
        folder = pathlib.Path(__file__).resolve().parents[2]
        files = sorted([*folder.glob("*.md"), *folder.glob("docs/*.md")])
        data = b"".join(path.read_bytes() for path in files)
        self.data = torch.frombuffer(bytearray(data), dtype=torch.uint8).to(torch.int64)
        self.device = device

    def batch(self, size: int, length: int, generator: torch.Generator) -> torch.Tensor:
        """(size, length + 1) tokens from random places."""
        starts = torch.randint(len(self.data) - length - 1, (size, 1), generator=generator)
        return self.data[starts + torch.arange(length + 1)].to(self.device)
