"""Two processes train one model over gloo with ingot's operators and optimizer, by DDP and by FSDP, and agree with a
single process."""
from __future__ import annotations

import os
import subprocess
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard

PROCESSES, STEPS, ROWS = 2, 5, 8


def model() -> nn.Module:
    """The same small network in every process."""
    import ingot.nn

    torch.manual_seed(3)
    return nn.Sequential(ingot.nn.RMSNorm(6), ingot.nn.Linear(6, 16), ingot.nn.SiLU(), ingot.nn.LayerNorm(16),
                         ingot.nn.Linear(16, 4))


def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The data of a step, for all processes together."""
    generator = torch.Generator().manual_seed(step)
    return torch.randn(ROWS, 6, generator=generator), torch.randint(0, 4, (ROWS,), generator=generator)


def train(network: nn.Module, part: slice) -> list[torch.Tensor]:
    """Some steps on a part of each batch; returns the parameters."""
    import ingot.optim
    from ingot import ops

    optimizer = ingot.optim.AdamW(network.parameters(), lr=1e-2, clip_norm=1.0)
    for step in range(STEPS):
        x, classes = batch(step)
        optimizer.zero_grad()
        ops.cross_entropy(network(x[part]), classes[part]).backward()
        optimizer.step()
    return [whole(parameter).detach().clone() for parameter in network.parameters()]


def whole(parameter: torch.Tensor) -> torch.Tensor:
    """All of a parameter that FSDP has cut in parts."""
    return parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter


def worker(rank: int, folder: str) -> None:
    """One of the processes; leaves its parameters in the folder. They meet in a file: another program may take a port
    that was free."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=PROCESSES)
    try:
        share = ROWS // PROCESSES
        network = nn.parallel.DistributedDataParallel(model())
        found = train(network, slice(rank * share, (rank + 1) * share))
        torch.save(found, os.path.join(folder, f"{rank}.pt"))
        found = train(fully_shard(model(), mesh=dist.init_device_mesh("cpu", (PROCESSES,))),
                      slice(rank * share, (rank + 1) * share))
        torch.save(found, os.path.join(folder, f"{rank}-sharded.pt"))
        dist.barrier()
    finally:
        dist.destroy_process_group()


def test_two_processes_train_as_one(tmp_path):
    mp.spawn(worker, args=(str(tmp_path),), nprocs=PROCESSES)
    expected = train(model(), slice(0, ROWS))
    for kind in ("", "-sharded"):
        results = [torch.load(tmp_path / f"{rank}{kind}.pt") for rank in range(PROCESSES)]
        for found, other, wanted in zip(*results, expected, strict=True):
            assert torch.equal(found, other)
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_torchrun_starts_the_example(repository):
    """As a farm would: the processes come from torchrun, and each keeps a part of the weights."""
    done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
                           repository / "examples/python/distributed.py", "--fsdp"],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "2 processes, FSDP over gloo" in done.stdout and "the same weights" in done.stdout


def test_the_model_has_the_gradients_of_torch():
    network = model()
    x, classes = batch(0)
    from ingot import ops

    ops.cross_entropy(network(x), classes).backward()
    found = [parameter.grad.clone() for parameter in network.parameters()]
    network.zero_grad()
    h = F.linear(F.rms_norm(x, (6,), network[0].weight), network[1].weight, network[1].bias)
    h = F.layer_norm(F.silu(h), (16,), network[3].weight, network[3].bias)
    F.cross_entropy(F.linear(h, network[4].weight, network[4].bias), classes).backward()
    for one, other in zip(found, network.parameters()):
        torch.testing.assert_close(one, other.grad, rtol=1e-4, atol=1e-6)
