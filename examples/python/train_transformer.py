"""End to end: a small transformer is trained twice on this repository's documents, by torch and with ingot.

`ingot.patch(model)` exchanges the modules that ingot has; the training loop stays as it was, but for the
optimizer's import. Both runs begin with the same weights and see the same batches, so their curves must agree.

    python examples/python/train_transformer.py [STEPS]
"""
import sys
import time

import torch
from small_model import OPERATORS, Config, Text, Transformer, generate

import ingot

device = "mps" if torch.backends.mps.is_available() else "cpu"
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
text = Text(device)


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> list[float]:
    """The loss of every step."""
    generator = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(steps):
        loss = model.loss(text.batch(16, model.config.context, generator))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def build() -> Transformer:
    """The model with the same weights each time."""
    torch.manual_seed(0)
    return Transformer(Config()).to(device)


options = {"lr": 3e-3, "betas": (0.9, 0.95), "weight_decay": 0.1}
model = build()
print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {len(text.data) >> 10} KiB of text")
start = time.perf_counter()
plain = train(model, torch.optim.AdamW(model.parameters(), **options))
plain_time = time.perf_counter() - start

patched = build()
if OPERATORS:
    print(ingot.patch(patched))
    optimizer = ingot.optim.AdamW(patched.parameters(), **options)
else:
    print("ingot's operators are not there on a Mac yet: torch trains both times")
    optimizer = torch.optim.AdamW(patched.parameters(), **options)
start = time.perf_counter()
with_ingot = train(patched, optimizer)
ingot_time = time.perf_counter() - start

for step in sorted({0, 1, 10, 50, *range(100, steps, 100), steps - 1}):
    if step < steps:
        print(f"step {step:4}: loss {plain[step]:.4f} by torch, {with_ingot[step]:.4f} with ingot")
print(f"{steps} steps: {plain_time:.1f} s by torch, {ingot_time:.1f} s with ingot")

# Rounding differs, so the curves part slowly: nearly equal at first, equal on average later.
last = min(steps, 50)
first = max(abs(a - b) for a, b in zip(plain[:20], with_ingot[:20]))
average = [sum(curve[-last:]) / last for curve in (plain, with_ingot)]
assert first < 1e-2, f"the losses of the first twenty steps differ by {first}"
assert abs(average[0] - average[1]) < 0.05 * average[0], f"the curves end at {average}"
if steps >= 200:
    assert max(average) < 0.6 * plain[0], f"the loss fell from {plain[0]} to {average} only"
print(f"same curve: the first 20 losses differ by at most {first:.1e}, the last {last} are "
      f"{average[0]:.3f} and {average[1]:.3f} on average")
print("it writes:", generate(patched, b"The kernel", 60, device).decode(errors="replace").replace("\n", " "))
