"""Rows of bench/shapes.py: an operation, a type and a shape, drawn at random.

Sizes come from real models (half of the draws), from a log-uniform distribution (a quarter), and from sizes that
kernels dislike: primes, one more or one less than a power of two (a quarter). Tensors are dense, begin at an odd
element, have padded rows, or are stored transposed.
"""
from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

# hidden, intermediate, query heads, key heads, head size, vocabulary: from the models' published configurations.
MODELS = {
    "Llama 3.2 1B": (2048, 8192, 32, 8, 64, 128256), "Llama 3.1 8B": (4096, 14336, 32, 8, 128, 128256),
    "Llama 2 7B": (4096, 11008, 32, 32, 128, 32000), "Qwen 2.5 0.5B": (896, 4864, 14, 2, 64, 151936),
    "Qwen 2.5 7B": (3584, 18944, 28, 4, 128, 152064), "Gemma 2 2B": (2304, 9216, 8, 4, 256, 256000),
    "Gemma 2 27B": (4608, 36864, 32, 16, 128, 256000), "Mistral 7B": (4096, 14336, 32, 8, 128, 32768),
    "DeepSeek V2 Lite": (2048, 10944, 16, 16, 192, 102400), "Phi 2": (2560, 10240, 32, 32, 80, 51200),
    "Phi 3 mini": (3072, 8192, 32, 32, 96, 32064), "GPT 2": (768, 3072, 12, 12, 64, 50257),
    "GPT-NeoX 20B": (6144, 24576, 64, 64, 96, 50432), "Whisper large": (1280, 5120, 20, 20, 64, 51866),
    "Whisper tiny": (384, 1536, 6, 6, 64, 51865), "ViT H 14": (1280, 5120, 16, 16, 80, 1000),
    "ViT g": (1408, 6144, 16, 16, 88, 1000), "SigLIP so400m": (1152, 4304, 16, 16, 72, 32000),
    "BERT base": (768, 3072, 12, 12, 64, 30522), "SD 1.5": (320, 1280, 8, 8, 40, 1000),
    "SD 1.5 deep": (1280, 5120, 8, 8, 160, 1000), "Flux": (3072, 12288, 24, 24, 128, 4096),
    "Mamba 2.8B": (2560, 5120, 80, 80, 32, 50280), "T5 base": (768, 2048, 12, 12, 64, 32128),
    "MiniLM": (384, 1536, 12, 12, 32, 30522), "tiny": (256, 1024, 16, 4, 16, 8192),
}
HEADS_BETWEEN = (16, 24, 32, 40, 48, 56, 64, 72, 80, 96, 112, 120, 128, 144, 160, 192, 224, 256)
LENGTHS = (1, 16, 77, 128, 197, 256, 512, 1024, 1500, 2048, 4096, 8192, 16384, 32768)
BATCHES = (1, 2, 3, 4, 7, 8, 16, 32, 64, 100, 128, 256, 512)
LAYOUTS = ("dense",) * 5 + ("odd start", "padded rows", "transposed")


@dataclass(frozen=True)
class Row:
    """What is measured: `sizes` and `options` mean what shape_cases.py makes of them for the operation."""
    family: str
    op: str
    dtype: str
    sizes: tuple[int, ...]
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.op} {self.dtype} {'x'.join(map(str, self.sizes))}{''.join(' ' + o for o in self.options)}"


def is_prime(number: int) -> bool:
    return number > 1 and all(number % factor for factor in range(2, math.isqrt(number) + 1))


class Draw(random.Random):
    """Random sizes."""

    def awkward(self, low: int, high: int) -> int:
        number = 2 ** self.uniform(math.log2(low), math.log2(high))
        if self.random() < 0.5:
            result = 2 ** round(math.log2(number)) + self.choice((-1, 1))
        else:
            result = round(number)
            while result <= high and not is_prime(result):
                result += 1
        return min(max(result, low), high)

    def size(self, low: int, high: int, known: list[int] | tuple[int, ...]) -> int:
        """A size from low to high; `known` are those of models."""
        kind = self.random()
        inside = [n for n in known if low <= n <= high]
        if kind < 0.5 and inside:
            return self.choice(inside)
        if kind < 0.75:
            return round(2 ** self.uniform(math.log2(low), math.log2(high)))
        return self.awkward(low, high)

    def model(self) -> tuple[int, ...]:
        return self.choice(list(MODELS.values()))

    def hidden(self, low: int = 8, high: int = 1 << 18) -> int:
        return self.size(low, high, [n for m in MODELS.values() for n in (m[0], m[1])])

    def tokens(self, high: int = 32768) -> int:
        return self.size(1, high, [b * n for b in (1, 2, 8) for n in LENGTHS])

    def heads(self) -> tuple[int, int, int]:
        """Query heads, key heads and their size."""
        _, _, queries, keys, size, _ = self.model()
        if self.random() < 0.4:
            size = self.choice(HEADS_BETWEEN)
        return queries, keys, size

    def float16(self) -> str:
        return self.choice(("f16", "bf16"))

    def any_float(self) -> str:
        return self.choice(("f32", "f16", "bf16"))


def rows_row(draw: Draw) -> Row:
    op = draw.choice(("rms_norm", "layer_norm", "add_rms_norm", "softmax", "log_softmax", "silu", "gelu", "silu_mul",
                      "rms_norm_training", "layer_norm_training", "softmax_backward", "log_softmax_backward"))
    width = draw.size(8, 1 << 18, [m[5] for m in MODELS.values()]) if "softmax" in op and draw.random() < 0.5 \
        else draw.hidden(8, 65536)
    layout = () if op.endswith(("backward", "training")) else (draw.choice(LAYOUTS[:-1]),)
    return Row("rows", op, draw.any_float(), (draw.tokens(), width), tuple(o for o in layout if o != "dense"))


def loss_row(draw: Draw) -> Row:
    op = draw.choice(("cross_entropy", "cross_entropy_training"))
    vocabulary = draw.size(32000, 1 << 18, [m[5] for m in MODELS.values()])
    return Row("rows", op, draw.any_float(), (draw.tokens(4096), vocabulary))


def other_row(draw: Draw) -> Row:
    kind = draw.choice(("rope", "embedding_bag", "adamw"))
    if kind == "rope":
        queries, _, size = draw.heads()
        batch = draw.choice(BATCHES[:8])
        return Row("rows", kind, draw.any_float(), (batch, queries, draw.tokens(8192), size // 2 * 2))
    if kind == "embedding_bag":
        return Row("rows", kind, draw.choice(("f32", "bf16")),
                   (draw.size(1000, 1 << 18, [m[5] for m in MODELS.values()]), draw.hidden(8, 4096),
                    draw.size(1, 16384, BATCHES), draw.size(1, 128, (1, 8, 20, 64))))
    return Row("rows", kind, "f32", (draw.size(1, 128, BATCHES), draw.size(16, 1 << 22, [1 << 20, 4096 * 4096])))


def attention_row(draw: Draw) -> Row:
    queries, keys, size = draw.heads()
    op = draw.choice(("attention", "attention", "attention_training"))
    length = draw.size(16, 16384, LENGTHS)
    options = [draw.choice(("full", "causal", "causal", "window"))]
    if op == "attention" and draw.random() < 0.2:
        options.append("cross")
    return Row("attention", op, draw.float16() if draw.random() < 0.85 else "f32",
               (draw.choice(BATCHES[:9]), queries, keys, length, size), tuple(o for o in options if o != "full"))


def decode_row(draw: Draw) -> Row:
    queries, keys, size = draw.heads()
    op = draw.choice(("decode", "decode", "paged_decode"))
    batch, length = draw.choice(BATCHES[:9]), draw.size(64, 32768, LENGTHS)
    return Row("decode", op, draw.float16(), (batch, queries, keys, length, size))


def linear_row(draw: Draw) -> Row:
    dtype = draw.choice(("f32", "f16", "bf16"))
    model = draw.model()
    pairs = [(model[0], model[1]), (model[1], model[0]), (model[0], model[0]), (model[0], model[5]),
             (model[0], (model[2] + 2 * model[3]) * model[4])]
    k, n = draw.choice(pairs) if draw.random() < 0.5 else (draw.hidden(16, 16384), draw.hidden(16, 16384))
    m = draw.size(1, 128, (1, 2, 4, 8, 16, 32, 64)) if draw.random() < 0.5 else draw.tokens(16384)
    options = [draw.choice(LAYOUTS), draw.choice(("nn", "nt", "nt", "tn", "tt"))]
    return Row("linear f32" if dtype == "f32" else "linear 16 bits", "matmul", dtype, (m, n, k),
               tuple(o for o in options if o not in ("dense", "nn")))


def quantised_row(draw: Draw) -> Row:
    model, group = draw.model(), draw.choice((32, 64, 128))
    k, n = draw.choice([(model[0], model[1]), (model[1], model[0]), (model[0], model[0])])
    if draw.random() < 0.3:
        k, n = draw.hidden(128, 16384), draw.hidden(16, 16384)
    m = draw.size(1, 64, (1, 2, 4, 8, 16, 32, 64)) if draw.random() < 0.6 else draw.size(65, 8192, LENGTHS)
    bits = draw.choice((4, 4, 8))
    return Row("quantised, m to 64" if m <= 64 else "quantised, m above 64", "quantised_linear", draw.float16(),
               (m, n, max(k // group, 1) * group), (f"{bits} bits", f"groups of {group}"))


def matrices_row(draw: Draw) -> Row:
    op = draw.choice(("qr", "cholesky", "solve", "eigh", "svd", "lu", "triangular_solve"))
    n = draw.size(2, 1024 if op in ("eigh", "svd") else 4096, (3, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048))
    batch = draw.size(1, 4096, BATCHES) if n <= 512 else draw.choice((1, 1, 2, 4))
    few = op in ("eigh", "svd") and n > 512 and batch < 8
    return Row("linear algebra, few large spectra" if few else "linear algebra", op, "f32", (batch, n, n))


# How often a kind is drawn, of 20.
KINDS: tuple[tuple[int, Callable[[Draw], Row]], ...] = (
    (4, rows_row), (1, loss_row), (2, other_row), (3, attention_row), (2, decode_row), (4, linear_row),
    (2, quantised_row), (2, matrices_row))


def draw_rows(seed: int, count: int, wanted: Callable[[Row], bool]) -> list[Row]:
    """`count` rows that are wanted; the same for the same seed and the same wishes."""
    draw, rows, tries = Draw(seed), [], 0
    kinds = [kind for weight, kind in KINDS for _ in range(weight)]
    while len(rows) < count and tries < 1000 * count:
        tries += 1
        row = draw.choice(kinds)(draw)
        if wanted(row):
            rows.append(row)
    return rows
