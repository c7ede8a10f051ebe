"""Adam and AdamW: torch.optim's classes, with the step computed by ingot in one call per group.

Param groups, schedulers, hooks, closures and state_dict are torch's, and a state_dict loads into torch.optim's class
and back. Parameters may be distributed (fully_shard): each process steps its part. The states are float32 whatever
the parameters' type: a state that was loaded in a half type is converted at the next step, and a float32 state loaded
for half parameters stays float32 (torch would round it).
"""
from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

import torch
from torch import Tensor

from ingot._operations.adamw import adam_, adamw_, grad_norm

OPTIM = ("Adam", "AdamW")
_TYPES = (torch.float32, torch.float16, torch.bfloat16)
_STATES = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "master")


def _lies_as(tensor: Tensor, other: Tensor, contiguous: bool) -> bool:
    """Whether both have their elements in the same order, without gaps; `contiguous` says it of the other."""
    return (contiguous and tensor.is_contiguous()) or \
        (tensor.stride() == other.stride() and torch.ops.aten.is_non_overlapping_and_dense(tensor))


def _is_distributed(tensor: Tensor) -> bool:
    """Whether it is a DTensor: fully_shard and tensor parallelism leave each process a part of it."""
    return hasattr(tensor, "to_local")


def _in_memory_order(tensor: Tensor) -> Tensor:
    """The elements of a tensor without gaps, as a contiguous view; of a distributed one those of this process."""
    if _is_distributed(tensor):
        tensor = tensor.to_local()
    return tensor if tensor.is_contiguous() else tensor.as_strided((tensor.numel(),), (1,), tensor.storage_offset())


class _Steady:
    """The tensors of a group whose next step is like the last: same parameters, same states, all in order.

    The step counts of the states become views of one tensor, which is counted up at once; what else changes it is
    seen by its version.
    """

    def __init__(self, group: dict[str, Any], lists: dict[str, list[Tensor]], states: list[dict[str, Tensor]],
                 step: int) -> None:
        self.amsgrad = group["amsgrad"]
        self.params = lists["params"]
        self.without = [parameter for parameter in group["params"] if parameter.grad is None]
        self.all = list(group["params"])
        self.dtype = self.params[0].dtype
        self.states, self.step = states, step
        self.counts = torch.stack([state["step"] for state in states])
        self.views = list(self.counts.unbind(0))
        for state, view in zip(states, self.views):
            state["step"] = view
        self.version = self.counts._version
        self.kept = {name: lists[name] for name in _STATES}

    @staticmethod
    def possible(lists: dict[str, list[Tensor]], states: list[dict[str, Tensor]]) -> bool:
        """Whether all tensors are contiguous, of one type and without master copies, and the counts float32."""
        if lists["master"] or torch.is_inference_mode_enabled() or any(map(_is_distributed, states[0].values())):
            return False
        dtype = lists["params"][0].dtype
        return all([p.dtype == dtype and p.is_contiguous() for p in lists["params"]]) and \
            all([state["step"].dtype == torch.float32 and state["step"].is_cpu for state in states])

    def lists(self, group: dict[str, Any]) -> dict[str, list[Tensor]] | None:
        """The lists of the next step, counted; None where something is another."""
        if group["amsgrad"] != self.amsgrad or self.counts._version != self.version or \
                not _same(group["params"], self.all) or any([p.grad is not None for p in self.without]):
            return None
        states = self.states
        if not _same([state.get("step") for state in states], self.views):
            return None
        for name in _STATES:
            if self.kept[name] and not _same([state.get(name) for state in states], self.kept[name]):
                return None
        grads = [parameter.grad for parameter in self.params]
        dtype = self.dtype
        if any([grad is None or grad.dtype != dtype or grad.layout != torch.strided or not grad.is_contiguous()
                for grad in grads]):
            return None
        self.counts.add_(1)
        self.version = self.counts._version
        self.step += 1
        return {"params": self.params, "grads": grads, **self.kept}


def _same(some: list[Any], others: list[Any]) -> bool:
    """Whether two lists have the same objects."""
    return len(some) == len(others) and all(map(is_, some, others))


class _Step:
    """What Adam and AdamW share; goes before torch's class, which keeps groups and states."""

    _operator: Callable[..., None]
    _steady: tuple[Any, list[Any], dict[int, _Steady]] | None = None  # states, their members, and by group

    def _finish(self, options: dict[str, Any], clip_norm: float | None, master_weights: bool) -> None:
        """Refuses what a fused step cannot do, after torch's constructor checked the rest."""
        name = f"ingot.optim.{type(self).__name__}"
        for option in ("capturable", "differentiable"):
            if options.get(option):
                raise ValueError(f"{name} has no {option}=True; use torch.optim.{type(self).__name__}")
        if clip_norm is not None and not clip_norm > 0:
            raise ValueError(f"{name}: clip_norm is {clip_norm}, but must be above 0, or None")
        self.clip_norm, self.master_weights = clip_norm, master_weights
        for group in self.param_groups:
            self._check_types(group)
        self._finished = True

    def _check_types(self, group: dict[str, Any]) -> None:
        """Refuses parameters that the kernels have no type for."""
        for parameter in group["params"]:
            if parameter.dtype not in _TYPES:
                raise TypeError(f"ingot.optim.{type(self).__name__} takes float32, float16 and bfloat16 parameters, "
                                f"but one of shape {tuple(parameter.shape)} is {parameter.dtype}")

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """As torch's; the new parameters' types are checked."""
        super().add_param_group(param_group)
        if getattr(self, "_finished", False):
            self._check_types(self.param_groups[-1])

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "clip_norm": self.clip_norm, "master_weights": self.master_weights,
                "_finished": True}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As torch's; float32 states of half parameters are kept as they are."""
        super().load_state_dict(state_dict)
        saved = [number for group in state_dict["param_groups"] for number in group["params"]]
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        for number, parameter in zip(saved, parameters):
            before = state_dict["state"].get(number)
            if before is None or parameter.dtype == torch.float32:
                continue
            for key in _STATES:
                if key in before and before[key].dtype == torch.float32:
                    self.state[parameter][key] = before[key].to(parameter.device, copy=True)

    def _state_of(self, parameter: Tensor, contiguous: bool, amsgrad: bool) -> dict[str, Tensor]:
        """The parameter's state in float32, made or converted where needed."""
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32)
            state["exp_avg"] = torch.zeros_like(parameter, dtype=torch.float32)
            state["exp_avg_sq"] = torch.zeros_like(parameter, dtype=torch.float32)
        if amsgrad and "max_exp_avg_sq" not in state:
            state["max_exp_avg_sq"] = torch.zeros_like(parameter, dtype=torch.float32)
        if self.master_weights and parameter.dtype != torch.float32 and "master" not in state:
            state["master"] = parameter.detach().to(torch.float32, copy=True)
        for key in _STATES:
            tensor = state.get(key)
            if tensor is not None and (tensor.dtype != torch.float32 or not _lies_as(tensor, parameter, contiguous)):
                state[key] = torch.empty_like(parameter, dtype=torch.float32).copy_(tensor)
        return state

    def _gradient_of(self, parameter: Tensor, contiguous: bool) -> Tensor:
        """The parameter's gradient, of a type and order that the kernel takes."""
        grad = parameter.grad
        if grad.is_sparse:
            raise RuntimeError(f"ingot.optim.{type(self).__name__} does not take sparse gradients; the parameter of "
                               f"shape {tuple(parameter.shape)} has one. torch.optim.SparseAdam does")
        if grad.dtype not in (parameter.dtype, torch.float32):
            grad = grad.to(parameter.dtype)
        if _lies_as(grad, parameter, contiguous):
            return grad
        return torch.empty_like(parameter, dtype=grad.dtype).copy_(grad)

    def _collect(self, group: dict[str, Any]) -> dict[tuple[int, bool], dict[str, list[Tensor]]]:
        """The group's tensors in lists, by step and by whether there are master copies."""
        ready: list[tuple[Tensor, Tensor, dict[str, Tensor]]] = []
        for parameter in group["params"]:
            if parameter.grad is None:
                continue
            contiguous = parameter.is_contiguous()
            if not contiguous and not _lies_as(parameter, parameter, False):
                raise RuntimeError(f"ingot.optim.{type(self).__name__}: a parameter of shape "
                                   f"{tuple(parameter.shape)} has strides {parameter.stride()}, with gaps or "
                                   "overlap; use a contiguous one")
            grad = self._gradient_of(parameter, contiguous)
            ready.append((parameter, grad, self._state_of(parameter, contiguous, group["amsgrad"])))
        if not ready:
            return {}
        states = [state for _, _, state in ready]
        steps = [state["step"] for state in states]
        torch._foreach_add_(steps, 1)
        calls: dict[tuple[int, bool], dict[str, list[Tensor]]] = {}
        for step, (parameter, grad, state) in zip(torch.stack(steps).tolist(), ready):
            lists = calls.setdefault((int(step), "master" in state),
                                     {name: [] for name in ("params", "grads", *_STATES)})
            lists["params"].append(_in_memory_order(parameter))
            lists["grads"].append(_in_memory_order(grad))
            for name in _STATES:
                if name in state and (name != "max_exp_avg_sq" or group["amsgrad"]):
                    lists[name].append(_in_memory_order(state[name]))
        if len(calls) == 1 and group["params"]:
            (step, _), lists = next(iter(calls.items()))
            if _Steady.possible(lists, states):
                self._remember(group, _Steady(group, lists, states, step))
        return calls

    def _remember(self, group: dict[str, Any], steady: _Steady) -> None:
        """Keeps what is likely to hold for the group's next step."""
        members = list(self.state.values())
        groups = self._steady[2] if self._steady and self._steady[0] is self.state else {}
        groups[id(group)] = steady
        self._steady = self.state, members, groups

    def _likely(self) -> dict[int, _Steady]:
        """By group, what was kept at the last step, if the states are those of then."""
        if self._steady and self._steady[0] is self.state and _same(list(self.state.values()), self._steady[1]):
            return self._steady[2]
        self._steady = None
        return {}

    def _norm(self, calls: list[tuple[dict[str, Any], int, dict[str, list[Tensor]]]]) -> Tensor:
        """The norm of all gradients, of the parts that other processes have too."""
        gradients = [parameter.grad for group in self.param_groups for parameter in group["params"]
                     if parameter.grad is not None]
        if not any(map(_is_distributed, gradients)):
            return grad_norm([grad for _, _, lists in calls for grad in lists["grads"]])
        norm = torch.nn.utils.get_total_norm(gradients)
        return (norm.full_tensor() if _is_distributed(norm) else norm).float()

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step for all parameters that have a gradient; returns what the closure returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        calls = []
        likely = self._likely()
        for group in self.param_groups:
            steady = likely.get(id(group))
            lists = steady.lists(group) if steady else None
            if lists is not None:
                calls.append((group, steady.step, lists))
            else:
                calls += [(group, step, lists) for (step, _), lists in self._collect(group).items()]
        norm = None
        if self.clip_norm is not None and calls:
            norm = self._norm(calls)
        for group, step, lists in calls:
            betas = group["betas"]
            self._operator(lists["params"], lists["grads"], lists["exp_avg"], lists["exp_avg_sq"], step=step,
                           lr=float(group["lr"]), betas=(float(betas[0]), float(betas[1])), eps=group["eps"],
                           weight_decay=group["weight_decay"], max_exp_avg_sqs=lists["max_exp_avg_sq"],
                           masters=lists["master"], norm=norm, max_norm=self.clip_norm or 0.0,
                           maximize=group["maximize"])
        return loss


class AdamW(_Step, torch.optim.AdamW):
    """torch.optim.AdamW with ingot's step.

    Beside torch's arguments: clip_norm clips the gradients of all groups together by their norm inside the step
    (the gradients themselves stay); master_weights keeps a float32 copy of half parameters in the state, which is
    updated and rounded into the parameter. foreach and fused are accepted and change nothing; capturable and
    differentiable are refused.
    """

    _operator = staticmethod(adamw_)

    def __init__(self, params: Any, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *,
                 clip_norm: float | None = None, master_weights: bool = False, **options: Any) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options)
        self._finish(options, clip_norm, master_weights)


class Adam(_Step, torch.optim.Adam):
    """torch.optim.Adam with ingot's step; clip_norm and master_weights as in AdamW."""

    _operator = staticmethod(adam_)

    def __init__(self, params: Any, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, amsgrad: bool = False, *,
                 clip_norm: float | None = None, master_weights: bool = False, **options: Any) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options)
        self._finish(options, clip_norm, master_weights)
        if options.get("decoupled_weight_decay"):
            self._operator = adamw_
