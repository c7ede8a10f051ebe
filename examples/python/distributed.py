"""Training on several processes: DistributedDataParallel or FSDP, with ingot's operators and optimizer.

Nothing about ingot is special here: its operators have autograd formulas, so DDP's hooks see the gradients, and
ingot.optim.AdamW is an ordinary optimizer. The processes see different batches and end with equal weights, which
are those of one process that saw all batches.

    python examples/python/distributed.py [--fsdp]                     two processes, started here
    torchrun --nproc-per-node 2 examples/python/distributed.py         started by torchrun, on one machine or on several

Processes are joined by NCCL where each has a GPU of its own, by gloo otherwise.
"""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from small_model import OPERATORS, TORCH, Config, Text, Transformer, ingot_functions
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import ingot

STEPS, BATCH = 20, 8
TEXT = Text()


def build(device: torch.device) -> Transformer:
    """The model by ingot's operators (by torch's on a Mac), with the same weights each time."""
    torch.manual_seed(0)
    config = Config(layers=1, width=64, hidden=192)
    model = Transformer(config, ingot_functions(), ingot.nn.RMSNorm) if OPERATORS else Transformer(config, TORCH)
    return model.to(device)


def train(model: torch.nn.Module, loss_of, rows: slice, processes: int, device: torch.device) -> list[float]:
    """The losses of STEPS steps on some rows of each batch."""
    optimizer = (ingot.optim if OPERATORS else torch.optim).AdamW(model.parameters(), lr=1e-3)
    losses = []
    for step in range(STEPS):
        tokens = TEXT.batch(processes * BATCH, 64, torch.Generator().manual_seed(step))[rows].to(device)
        scores = model(tokens[:, :-1])
        loss = loss_of(scores.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()  # DDP and FSDP average the gradients here
        optimizer.step()
        losses.append(loss.item())
    return losses


def whole(parameter: torch.Tensor) -> torch.Tensor:
    """A parameter's values, also where FSDP has left each process a part of it."""
    return (parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter).detach().flatten()


def compare_with_one_process(flat: torch.Tensor, processes: int, device: torch.device) -> None:
    """One process that sees the rows of all ends with the same weights."""
    single = build(device)
    train(single, single.functions.cross_entropy, slice(None), processes, device)
    alone = torch.cat([whole(p) for p in single.parameters()])
    difference = ((flat - alone).norm() / alone.norm()).item()
    assert difference < 1e-3, f"one process that sees all rows ends {difference} away"
    print(f"one process with all rows ends with the same weights, to {difference:.1e}")


def work(fsdp: bool) -> None:
    """What each of the processes does; who they are is in the environment, as torchrun leaves it."""
    torch.set_num_threads(1)
    rank, processes, local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    has_gpu = torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    device = torch.device("cuda", local) if has_gpu else torch.device("cpu")
    if has_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if has_gpu else "gloo")
    model = build(device)
    if fsdp:
        fully_shard(model, mesh=dist.init_device_mesh(device.type, (processes,)))
    losses = train(model if fsdp else DistributedDataParallel(model), model.functions.cross_entropy,
                   slice(rank * BATCH, (rank + 1) * BATCH), processes, device)
    flat = torch.cat([whole(p) for p in model.parameters()])
    everyone = [torch.empty_like(flat) for _ in range(processes)]
    dist.all_gather(everyone, flat)
    assert all(torch.equal(flat, other) for other in everyone), "the processes' weights differ"
    if rank == 0:
        how = f"{'FSDP' if fsdp else 'DDP'} over {dist.get_backend()}"
        print(f"{processes} processes, {how}, {STEPS} steps: loss {losses[0]:.3f} → {losses[-1]:.3f}; equal weights")
        assert losses[-1] < losses[0]
        compare_with_one_process(flat, processes, device)
    dist.barrier()
    dist.destroy_process_group()


def start(rank: int, processes: int, port: int, fsdp: bool) -> None:
    """A process that this script has started: the environment that torchrun would have made."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), LOCAL_RANK=str(rank),
                      WORLD_SIZE=str(processes), LOCAL_WORLD_SIZE=str(processes))
    work(fsdp)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fsdp", action="store_true", help="each process keeps a part of the weights")
    parser.add_argument("--processes", type=int, default=2, help="how many, when torchrun does not start them (2)")
    options = parser.parse_args()
    if "TORCHELASTIC_RUN_ID" in os.environ or {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= os.environ.keys():
        work(options.fsdp)
        return
    with socket.socket() as listener:  # a port that is free
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    multiprocessing.spawn(start, (options.processes, port, options.fsdp), options.processes)


if __name__ == "__main__":
    main()
