"""Training on two processes: DistributedDataParallel over gloo, with ingot's operators and optimizer.

Nothing about ingot is special here: its operators have autograd formulas, so DDP's hooks see the gradients, and
ingot.optim.AdamW is an ordinary optimizer. The processes see different batches and end with equal weights, which
are those of one process that saw all batches.

    python examples/python/distributed.py
"""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from small_model import OPERATORS, TORCH, Config, Text, Transformer, ingot_functions
from torch.nn.parallel import DistributedDataParallel

import ingot

PROCESSES, STEPS, BATCH = 2, 20, 8
TEXT = Text()


def build() -> Transformer:
    """The model by ingot's operators (by torch's on a Mac), with the same weights each time."""
    torch.manual_seed(0)
    config = Config(layers=1, width=64, hidden=192)
    return Transformer(config, ingot_functions(), ingot.nn.RMSNorm) if OPERATORS else Transformer(config, TORCH)


def batches(step: int) -> torch.Tensor:
    """All rows of a step; a process takes its share of them."""
    return TEXT.batch(PROCESSES * BATCH, 64, torch.Generator().manual_seed(step))


def train(model: torch.nn.Module, loss_of, rows: slice) -> list[float]:
    """The losses of STEPS steps on some rows of each batch."""
    optimizer = (ingot.optim if OPERATORS else torch.optim).AdamW(model.parameters(), lr=1e-3)
    losses = []
    for step in range(STEPS):
        tokens = batches(step)[rows]
        scores = model(tokens[:, :-1])
        loss = loss_of(scores.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()  # DDP averages the gradients here
        optimizer.step()
        losses.append(loss.item())
    return losses


def process(rank: int, port: int) -> None:
    """What each of the processes does."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=PROCESSES)
    model = build()
    losses = train(DistributedDataParallel(model), model.functions.cross_entropy,
                   slice(rank * BATCH, (rank + 1) * BATCH))
    flat = torch.cat([p.detach().flatten() for p in model.parameters()])
    everyone = [torch.empty_like(flat) for _ in range(PROCESSES)]
    dist.all_gather(everyone, flat)
    assert all(torch.equal(flat, other) for other in everyone), "the processes' weights differ"
    if rank == 0:
        print(f"{PROCESSES} processes, {STEPS} steps: loss {losses[0]:.3f} → {losses[-1]:.3f}; equal weights")
        single = build()
        train(single, single.functions.cross_entropy, slice(None))
        alone = torch.cat([p.detach().flatten() for p in single.parameters()])
        difference = ((flat - alone).norm() / alone.norm()).item()
        assert difference < 1e-3, f"one process that sees all rows ends {difference} away"
        assert losses[-1] < losses[0]
        print(f"one process with all rows ends with the same weights, to {difference:.1e}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as listener:  # a port that is free
        listener.bind(("127.0.0.1", 0))
        free_port = listener.getsockname()[1]
    multiprocessing.spawn(process, (free_port,), PROCESSES)
