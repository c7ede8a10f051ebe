"""ingot.optim against torch.optim: the same curves, states that load both ways, and what is refused."""
from __future__ import annotations

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import ingot.optim
from ingot import ops
from op_samples import normal

CLASSES = [(ingot.optim.AdamW, torch.optim.AdamW), (ingot.optim.Adam, torch.optim.Adam)]
OPTIONS = [{}, {"weight_decay": 0.1, "amsgrad": True}, {"lr": 3e-2, "betas": (0.8, 0.95), "eps": 1e-6},
           {"maximize": True, "lr": 1e-4}, {"weight_decay": 0.0, "eps": 0.0}]


def model() -> nn.Module:
    """A small network, the same every time."""
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 16), nn.SiLU(), nn.Linear(16, 16), nn.SiLU(), nn.Linear(16, 1))


def train(network: nn.Module, optimizer: torch.optim.Optimizer, steps: int, first: int = 0) -> list[float]:
    """Losses of some steps on random data that depends on the step's number."""
    losses = []
    for step in range(first, first + steps):
        x = normal(8, 6, seed=step)
        loss = F.mse_loss(network(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))
@pytest.mark.parametrize("ours,theirs", CLASSES, ids=["AdamW", "Adam"])
def test_same_curve_as_torch_over_100_steps(ours, theirs, options):
    one, other = model(), model()
    found = train(one, ours(one.parameters(), **options), 100)
    expected = train(other, theirs(other.parameters(), **options), 100)
    torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=2e-4, atol=2e-5)
    for p, q in zip(one.parameters(), other.parameters()):
        torch.testing.assert_close(p, q, rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("ours,theirs", CLASSES, ids=["AdamW", "Adam"])
def test_state_dict_round_trips_with_torch(ours, theirs, amsgrad):
    reference = model()
    optimizer = theirs(reference.parameters(), lr=1e-2, amsgrad=amsgrad)
    train(reference, optimizer, 5)

    taken = copy.deepcopy(reference)
    continued = ours(taken.parameters(), lr=0.5)
    continued.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert continued.param_groups[0]["lr"] == 1e-2 and continued.param_groups[0]["amsgrad"] == amsgrad
    found, expected = train(taken, continued, 10, 5), train(reference, optimizer, 10, 5)
    torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-4, atol=1e-5)

    state = continued.state_dict()
    assert state["state"].keys() == optimizer.state_dict()["state"].keys()
    for number, entry in optimizer.state_dict()["state"].items():
        assert set(entry) == set(state["state"][number])
        assert state["state"][number]["step"] == entry["step"] == 15
        assert state["state"][number]["step"].dtype == entry["step"].dtype
    assert set(state["param_groups"][0]) == set(optimizer.state_dict()["param_groups"][0])

    back = copy.deepcopy(taken)
    returned = theirs(back.parameters())
    returned.load_state_dict(copy.deepcopy(state))
    torch.testing.assert_close(torch.tensor(train(back, returned, 10, 15)),
                               torch.tensor(train(taken, continued, 10, 15)), rtol=1e-4, atol=1e-5)


def test_groups_keep_their_own_options_and_schedulers_work():
    one, other = model(), model()

    def groups(network):
        return [{"params": network[0].parameters(), "lr": 1e-2},
                {"params": network[2].parameters(), "weight_decay": 0.5, "betas": (0.5, 0.9)},
                {"params": network[4].parameters(), "amsgrad": True}]

    results = []
    for network, kind in ((one, ingot.optim.AdamW), (other, torch.optim.AdamW)):
        optimizer = kind(groups(network))
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)
        losses = []
        for step in range(20):
            losses += train(network, optimizer, 1, step)
            scheduler.step()
        results.append(losses)
    torch.testing.assert_close(torch.tensor(results[0]), torch.tensor(results[1]), rtol=1e-4, atol=1e-5)


def test_parameters_without_gradient_are_left_alone_and_count_their_own_steps():
    a, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
    optimizer = ingot.optim.AdamW([a, b], lr=0.1)
    a.grad = torch.ones(3)
    optimizer.step()
    assert torch.equal(b.detach(), torch.ones(3)) and len(optimizer.state[b]) == 0
    b.grad = torch.ones(3)
    optimizer.step()
    assert optimizer.state[a]["step"] == 2 and optimizer.state[b]["step"] == 1


def test_closure_and_tensor_learning_rate():
    p = nn.Parameter(torch.tensor([2.0]))
    optimizer = ingot.optim.AdamW([p], lr=torch.tensor(0.1), weight_decay=0.0)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 4.0
    torch.testing.assert_close(p.detach(), torch.tensor([1.9]))
    optimizer.param_groups[0]["lr"].fill_(0.0)
    optimizer.step(closure)
    torch.testing.assert_close(p.detach(), torch.tensor([1.9]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_parameters_have_float32_states(dtype: torch.dtype):
    p = nn.Parameter(normal(40, dtype=dtype))
    optimizer = ingot.optim.AdamW([p], lr=1e-2, weight_decay=0.0)
    p.grad = normal(40, seed=1, dtype=dtype)
    optimizer.step()
    state = optimizer.state[p]
    assert state["exp_avg"].dtype == state["exp_avg_sq"].dtype == torch.float32
    torch.testing.assert_close(state["exp_avg"], 0.1 * p.grad.float())
    saved = copy.deepcopy(optimizer.state_dict())
    again = ingot.optim.AdamW([nn.Parameter(p.detach().clone())])
    again.load_state_dict(saved)
    kept = again.state[again.param_groups[0]["params"][0]]
    assert kept["exp_avg"].dtype == torch.float32 and torch.equal(kept["exp_avg"], state["exp_avg"])

    theirs = torch.optim.AdamW([nn.Parameter(p.detach().clone())])
    theirs.load_state_dict(saved)
    assert next(iter(theirs.state.values()))["exp_avg"].dtype == dtype
    q = nn.Parameter(p.detach().clone())
    back = ingot.optim.AdamW([q])
    back.load_state_dict(theirs.state_dict())
    q.grad = torch.ones(40, dtype=dtype)
    back.step()
    assert back.state[q]["exp_avg"].dtype == torch.float32


def test_master_weights_keep_small_steps():
    start = torch.full((8,), 1.0, dtype=torch.bfloat16)
    plain, kept = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    one = ingot.optim.AdamW([plain], lr=1e-4, weight_decay=0.0)
    two = ingot.optim.AdamW([kept], lr=1e-4, weight_decay=0.0, master_weights=True)
    for _ in range(100):
        plain.grad = kept.grad = torch.ones(8, dtype=torch.bfloat16)
        one.step()
        two.step()
    assert torch.equal(plain.detach(), start)  # each step is below half a unit of bfloat16
    torch.testing.assert_close(two.state[kept]["master"], torch.full((8,), 0.99), rtol=1e-4, atol=0)
    torch.testing.assert_close(kept.detach(), torch.full((8,), 0.99, dtype=torch.bfloat16), rtol=1e-2, atol=0)


def test_clip_norm_is_torch_clipping_before_the_step():
    one, other = model(), model()
    ours = ingot.optim.AdamW(one.parameters(), lr=1e-2, clip_norm=0.05)
    theirs = torch.optim.AdamW(other.parameters(), lr=1e-2)
    for step in range(20):
        train(one, ours, 1, step)
        x = normal(8, 6, seed=step)
        theirs.zero_grad()
        F.mse_loss(other(x), x.sum(1, keepdim=True)).backward()
        nn.utils.clip_grad_norm_(other.parameters(), 0.05)
        theirs.step()
    for p, q in zip(one.parameters(), other.parameters()):
        torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-5)


def test_clip_grad_norm():
    one, other = ([nn.Parameter(normal(5, 4)), nn.Parameter(normal(7)), nn.Parameter(normal(3))] for _ in range(2))
    for parameters in (one, other):
        parameters[0].grad, parameters[1].grad = normal(5, 4, seed=2), normal(7, seed=3)
    found, expected = ops.clip_grad_norm_(one, 0.5), nn.utils.clip_grad_norm_(other, 0.5)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(one[0].grad, other[0].grad)
    one[0].grad[0, 0] = float("nan")
    with pytest.raises(RuntimeError, match="nan"):
        ops.clip_grad_norm_(one, 0.5, error_if_nonfinite=True)


def test_channels_last_parameters_and_strided_gradients():
    start = normal(4, 3, 5, 5).to(memory_format=torch.channels_last)
    one, other = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    ours, theirs = ingot.optim.AdamW([one], lr=1e-2), torch.optim.AdamW([other], lr=1e-2)
    for step in range(3):
        grad = normal(4, 3, 5, 5, seed=step)
        one.grad, other.grad = grad, grad.to(memory_format=torch.channels_last)
        ours.step()
        theirs.step()
    torch.testing.assert_close(one, other)
    assert one.stride() == start.stride()


def test_grad_scaler_skips_steps_with_infinities():
    p = nn.Parameter(torch.ones(3))
    optimizer = ingot.optim.AdamW([p], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale((p * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert torch.equal(p.detach(), torch.ones(3))
    optimizer.zero_grad()
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    assert bool((p < 1).all())


def test_versions_count_so_that_autograd_notices():
    p = nn.Parameter(torch.ones(3))
    optimizer = ingot.optim.AdamW([p], lr=0.1)
    loss = (p * p).sum()
    p.grad = torch.ones(3)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_pickle_keeps_the_options():
    p = nn.Parameter(torch.ones(3))
    optimizer = ingot.optim.AdamW([p], clip_norm=2.0)
    p.grad = torch.ones(3)
    optimizer.step()
    again = pickle.loads(pickle.dumps(optimizer))
    assert again.clip_norm == 2.0 and again.param_groups[0]["betas"] == (0.9, 0.999)
    again.param_groups[0]["params"][0].grad = torch.ones(3)
    again.step()
    assert next(iter(again.state.values()))["step"] == 2


def test_refusals():
    p = nn.Parameter(torch.ones(3))
    for option in ("capturable", "differentiable"):
        with pytest.raises(ValueError, match=option):
            ingot.optim.AdamW([p], **{option: True})
    with pytest.raises(ValueError, match="clip_norm is -1"):
        ingot.optim.AdamW([p], clip_norm=-1)
    with pytest.raises(TypeError, match="float64"):
        ingot.optim.AdamW([nn.Parameter(torch.ones(3, dtype=torch.float64))])
    with pytest.raises(TypeError, match="float64"):
        ingot.optim.AdamW([p]).add_param_group({"params": [nn.Parameter(torch.ones(3, dtype=torch.float64))]})
    with pytest.raises(ValueError, match="learning rate"):
        ingot.optim.AdamW([p], lr=-1.0)
    embedding = nn.Embedding(5, 3, sparse=True)
    optimizer = ingot.optim.AdamW(embedding.parameters())
    embedding(torch.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="sparse"):
        optimizer.step()


CHANGES = {
    "nothing": lambda network, optimizer: None,
    "a state": lambda network, optimizer: optimizer.state[network[0].weight].update(
        exp_avg=torch.ones_like(network[0].weight)),
    "a state in place": lambda network, optimizer: optimizer.state[network[0].weight]["exp_avg"].fill_(1.0),
    "all states of a parameter": lambda network, optimizer: optimizer.state.update(
        {network[0].bias: {key: value.clone() * 2 for key, value in optimizer.state[network[0].bias].items()}}),
    "a step count": lambda network, optimizer: optimizer.state[network[2].bias].update(step=torch.tensor(40.0)),
    "a step count in place": lambda network, optimizer: optimizer.state[network[2].bias]["step"].add_(7),
    "all states": lambda network, optimizer: optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict())),
    "no states": lambda network, optimizer: optimizer.state.clear(),
    "options": lambda network, optimizer: optimizer.param_groups[0].update(maximize=True, lr=1e-3),
    "the parameters": lambda network, optimizer: optimizer.param_groups[0]["params"].pop(),
    "another group": lambda network, optimizer: optimizer.add_param_group(
        {"params": [optimizer.param_groups[0]["params"].pop()], "lr": 0.1}),
    "no gradient": lambda network, optimizer: network[4].bias.requires_grad_(False),
    "a memory format": lambda network, optimizer: setattr(
        network[2].weight, "data", network[2].weight.data.t().contiguous().t()),
}


@pytest.mark.parametrize("what", CHANGES)
def test_changes_between_steps_are_seen(what):
    """Steps that are like the last are short; whatever is changed in between has its effect, as in torch."""
    losses, counts = [], []
    for kind in (ingot.optim.AdamW, torch.optim.AdamW):
        network = model()
        optimizer = kind(network.parameters(), lr=2e-2)
        found = train(network, optimizer, 4)
        CHANGES[what](network, optimizer)
        losses.append(found + train(network, optimizer, 6, first=4))
        counts.append([float(optimizer.state[p]["step"]) for p in network.parameters()])
    assert counts[0] == counts[1]
    torch.testing.assert_close(torch.tensor(losses[0]), torch.tensor(losses[1]), rtol=2e-4, atol=2e-5)


def test_a_sparse_gradient_after_dense_ones_is_refused():
    network = nn.Embedding(5, 4)
    optimizer = ingot.optim.AdamW(network.parameters())
    for _ in range(2):
        network.weight.grad = torch.ones(5, 4)
        optimizer.step()
    network.weight.grad = torch.ones(5, 4).to_sparse()
    with pytest.raises(RuntimeError, match="does not take sparse gradients"):
        optimizer.step()
