"""What torch's functions mean for the flow of gradient, by name (read off torch 2.13)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import torch

from whygrad.trace import Kind


class Role(Enum):
    """How the recorder treats a call."""

    IGNORE = "ignore"
    COMPUTE = "compute"
    FACTORY = "factory"
    FILL = "filled with a number"
    COPY = "copy"
    LEAVE = "leave"
    DETACH = "detach"
    STEP = "piecewise constant"
    FLAG = "flag"
    IN_PLACE = "in place"
    GRADIENT = "gradient access"


QUERIES = frozenset(
    """size dim ndimension numel nelement stride storage_offset data_ptr element_size is_contiguous is_floating_point
    is_complex is_inference is_nonzero is_same_size is_set_to is_shared is_pinned is_signed get_device
    __len__ __repr__ __str__ __format__ __hash__ __dir__ __contains__ __bool__ _is_all_true
    _is_any_true backward register_hook register_post_accumulate_grad_hook retain_grad storage untyped_storage
    _typed_storage __reduce_ex__ _set_grad_enabled set_grad_enabled is_grad_enabled
    is_inference_mode_enabled allclose equal result_type can_cast has_names _version _is_view names
    share_memory_ pin_memory set_ _has_compatible_shallow_copy_type is_tensor is_storage broadcast_shapes
    get_default_dtype set_default_dtype manual_seed seed initial_seed get_rng_state set_rng_state
    _assert_async __cuda_array_interface__ __dlpack__ __dlpack_device__ _nested_tensor_size
    __setstate__ _reduce_ex_internal refine_names rename""".split()
)
FACTORIES = frozenset(
    """zeros ones empty rand randn randint randperm arange linspace logspace eye zeros_like ones_like empty_like
    rand_like randn_like randint_like new_zeros new_ones new_empty empty_strided tril_indices
    triu_indices bartlett_window hann_window""".split()
)
FILLED = frozenset({"full", "full_like", "new_full"})
COPIES = frozenset({"tensor", "as_tensor", "asarray", "scalar_tensor", "new_tensor", "from_numpy", "frombuffer"})
DEPARTURES = frozenset({"item", "tolist", "numpy", "__array__", "__float__", "__int__", "__index__", "__complex__"})
AUGMENTED = frozenset(
    """__iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __imod__ __ipow__ __iand__ __ior__ __ixor__
    __ilshift__ __irshift__ __idiv__ __imatmul__""".split()
)
STEPPED = frozenset(
    """round sign floor ceil trunc fix sgn heaviside floor_divide __floordiv__ round_ sign_ floor_ ceil_ trunc_
    bucketize searchsorted bernoulli bernoulli_ poisson binomial one_hot""".split()
)
ALIASING = frozenset("detach reshape squeeze unsqueeze expand permute select unfold unbind split".split())
"""Results that share memory with their operand, as a rule: writing to one changes the other."""
CASTS = frozenset({"to", "type", "float", "double", "half", "bfloat16", "type_as"})
ARITHMETIC = frozenset(
    "add sub rsub mul div pow mse_loss l1_loss smooth_l1_loss huber_loss stack cat sum mean to".split()
)
"""Operations to which whole numbers and truth values are values like others; elsewhere they choose."""
SCALED = frozenset({"add", "sub", "rsub", "mul", "div", "reciprocal", "pow", "clamp", "fill"})
"""Operations whose Python number is worth keeping: discount factors, micro-batch counts, limits."""
PURE = frozenset(
    """detach lerp clamp clip add sub mul div squeeze unsqueeze masked_fill
    _foreach_lerp _foreach_add _foreach_sub _foreach_mul _foreach_div""".split()
)
"""Operations that people write for their namesakes in place; as a statement they do nothing."""
MODAL = frozenset("dropout batch_norm alpha_dropout feature_alpha_dropout dropout1d dropout2d dropout3d".split())
"""Operations that behave differently in training and in evaluation."""
_GRADIENTS: Any = (torch.Tensor.grad, torch.Tensor._grad)  # descriptors, whatever the stubs say of them
_NODE: Any = torch.Tensor.grad_fn

_roles: dict[Any, tuple[Role, str]] = {}


def role(func: Callable[..., Any]) -> tuple[Role, str]:
    """Role and public name of a torch function; looked up once per function."""
    found = _roles.get(func)
    if found is None:
        found = _roles[func] = _decide(func)
    return found


def _decide(func: Callable[..., Any]) -> tuple[Role, str]:
    name = getattr(func, "__name__", type(func).__name__)
    if name == "__get__":
        return _getter(func)
    if name in ("__set__", "__delete__"):
        if func == torch.Tensor.data.__set__:  # type: ignore[attr-defined]
            return Role.IN_PLACE, "data"
        if any(func in (gradient.__set__, gradient.__delete__) for gradient in _GRADIENTS):
            return Role.GRADIENT, name
        setter = torch.Tensor.requires_grad.__set__  # type: ignore[attr-defined]
        return (Role.FLAG, "requires_grad") if func == setter else (Role.IGNORE, name)
    if name == "requires_grad_":
        return Role.FLAG, name
    if name in QUERIES or name.startswith(("is_", "_is_", "has_", "get_", "set_", "_foreach_norm")):
        return Role.IGNORE, name
    if name in FILLED:
        return Role.FILL, name
    if name in FACTORIES:
        return Role.FACTORY, name
    if name in COPIES:
        return Role.COPY, name
    if name in DEPARTURES:
        return Role.LEAVE, name
    if name in ("detach", "detach_", "detach_copy"):
        return Role.DETACH, name
    if name in STEPPED:
        return Role.STEP, name
    return (Role.IN_PLACE, name) if _in_place(name) else (Role.COMPUTE, name)


def _in_place(name: str) -> bool:
    if name.endswith("__"):
        return name == "__setitem__" or name in AUGMENTED
    return name.endswith("_")


def _getter(func: Callable[..., Any]) -> tuple[Role, str]:
    tensor = torch.Tensor
    if func == tensor.data.__get__:  # type: ignore[attr-defined]
        return Role.DETACH, "data"
    if any(func == gradient.__get__ for gradient in _GRADIENTS):
        return Role.GRADIENT, "__get__"
    for name in ("T", "mT", "H", "mH", "real", "imag"):
        if func == getattr(tensor, name).__get__:
            return Role.COMPUTE, name
    if func == _NODE.__get__:
        return Role.IGNORE, "grad_fn"
    return Role.IGNORE, "attribute"


KINDS = {
    Role.COMPUTE: Kind.COMPUTE,
    Role.FACTORY: Kind.INPUT,
    Role.COPY: Kind.COPY,
    Role.LEAVE: Kind.LEAVE,
    Role.DETACH: Kind.DETACH,
    Role.STEP: Kind.DISCRETE,
    Role.FLAG: Kind.FLAG,
    Role.IN_PLACE: Kind.COMPUTE,
}
