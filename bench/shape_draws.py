"""What rows of bench/shapes.py are drawn from: types and shapes.

Sizes come from real models (half of the draws), from a log-uniform distribution (a quarter), and from sizes that
kernels dislike: primes, one more or one less than a power of two (a quarter). Tensors are dense, begin at an odd
element, have padded rows, or are stored transposed.
"""
from __future__ import annotations

import math
import random
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
VOCABULARIES = [model[5] for model in MODELS.values()]
LAYOUTS = ("dense",) * 5 + ("odd start", "padded rows", "transposed")


@dataclass(frozen=True)
class Row:
    """What is measured: `sizes` and `options` mean what the operation's shapes() makes of them."""
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


def draw_row_operation(draw: Draw, op: str, vocabulary: bool = False, layouts: bool = True) -> Row:
    """Rows of a hidden size, or of a vocabulary."""
    width = draw.size(8, 1 << 18, VOCABULARIES) if vocabulary and draw.random() < 0.5 else draw.hidden(8, 65536)
    layout = (draw.choice(LAYOUTS[:-1]),) if layouts else ()
    return Row("rows", op, draw.any_float(), (draw.tokens(), width), tuple(o for o in layout if o != "dense"))


def draw_matrices(draw: Draw, op: str, spectrum: bool) -> Row:
    """A batch of square matrices; spectrum: eigenvalues or singular values are wanted, which takes longer."""
    n = draw.size(2, 1024 if spectrum else 4096, (3, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048))
    batch = draw.size(1, 4096, BATCHES) if n <= 512 else draw.choice((1, 1, 2, 4))
    few = spectrum and n > 512 and batch < 8
    return Row("linear algebra, few large spectra" if few else "linear algebra", op, "f32", (batch, n, n))
