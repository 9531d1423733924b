"""How torch's many spellings of one operation are called in a trace (read off torch 2.11 and 2.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygrad.trace.operations import NAMES, OPAQUE

if TYPE_CHECKING:
    from whygrad.capture.torch.shadow import Node

_SPELLED = {
    "add": "__add__ __radd__ __iadd__",
    "sub": "subtract __sub__ __isub__",
    "rsub": "__rsub__",
    "mul": "multiply __mul__ __rmul__ __imul__",
    "div": "divide true_divide __truediv__ __div__ __itruediv__ __idiv__",
    "reciprocal": "__rdiv__ __rtruediv__",
    "floor_divide": "__floordiv__ __rfloordiv__ __ifloordiv__",
    "neg": "negative __neg__",
    "pow": "__pow__ __ipow__ float_power square",
    "rpow": "__rpow__",
    "abs": "absolute __abs__",
    "matmul": "mm mv bmm __matmul__ __rmatmul__ __imatmul__ tensordot",
    "addmm": "baddbmm addbmm addmv",
    "dot": "vdot inner",
    "exp": "exp2",
    "log": "log2 log10",
    "atanh": "arctanh",
    "acos": "arccos",
    "asin": "arcsin",
    "acosh": "arccosh",
    "sigmoid": "expit",
    "logsigmoid": "log_sigmoid",
    "clamp": "clip clamp_min clamp_max hardtanh relu6",
    "minimum": "fmin",
    "maximum": "fmax",
    "cat": "concat concatenate hstack vstack dstack column_stack row_stack",
    "reshape": "view view_as reshape_as flatten ravel unflatten unsafe_view atleast_1d atleast_2d atleast_3d",
    "clone": "contiguous positive __pos__",
    "to": "float double half bfloat16 type type_as cuda cpu to_copy long int short bool",
    "expand": "expand_as broadcast_to",
    "permute": "t T mT H mH adjoint transpose swapaxes swapdims movedim moveaxis",
    "select": "__getitem__ narrow",
    "gather": "take_along_dim",
    "unbind": "__iter__",
    "split": "chunk tensor_split split_with_sizes unsafe_split unsafe_chunk hsplit vsplit dsplit",
    "flip": "fliplr flipud",
    "repeat": "tile",
    "diagonal": "diag",
    "store": "__setitem__ copy index_put index_copy scatter slice_scatter select_scatter",
    "fill": "full full_like new_full zero index_fill",
    "scatter_add": "index_add scatter_reduce",
    "norm": "vector_norm matrix_norm frobenius_norm nuclear_norm",
    "constant": "arange zeros ones eye empty linspace logspace zeros_like ones_like empty_like new_zeros new_ones "
    "new_empty empty_strided tril_indices triu_indices bartlett_window hann_window",
    "random": "randn randn_like rand rand_like normal uniform exponential randint randint_like standard_gamma "
    "log_normal cauchy trunc_normal",
    "random_permutation": "randperm",
    "detach": "detach_copy",
    "copy": "tensor as_tensor asarray scalar_tensor new_tensor from_numpy frombuffer Tensor Parameter Variable",
    "leave": "item tolist numpy __array__ __float__ __int__ __index__ __complex__",
    "flag": "requires_grad",
    "compare": "gt ge lt le eq ne greater greater_equal less less_equal not_equal __gt__ __ge__ __lt__ __le__ __eq__ "
    "__ne__ isnan isfinite isinf logical_and logical_or logical_not __invert__ __and__ __or__",
    "transformer_encoder_layer": "transformer_encoder_layer_fwd",
    "multi_head_attention_forward": "native_multi_head_attention",
    "compiled": "torch.compile",
}
_ALIASES = {alias: name for name, aliases in _SPELLED.items() for alias in aliases.split()}
_PREFIXES = ("_foreach_", "special_", "linalg_", "_")

REVERSED = frozenset({"rsub", "__rsub__", "__rdiv__", "__rtruediv__", "__rpow__", "__rmatmul__"})
"""Spellings that name the second operand first."""
FORWARD = {"rsub": "sub", "reciprocal": "div", "rpow": "pow"}
"""What a reversed operation of two tensors is, with its operands in the usual order."""
EXTREME_OF_TWO = {"max": "maximum", "min": "minimum"}
EXTREME_OF_MANY = {"max": "amax", "min": "amin"}

_known: dict[str, str] = {}


def canonical(written: str) -> str:
    """The name in a trace of what torch calls so."""
    found = _known.get(written)
    if found is None:
        found = _known[written] = _translated(written)
    return found


def _translated(written: str) -> str:
    plain = written.split(".")[0] if not written.startswith("torch.") else written
    for spelled in (plain, *(plain.removeprefix(prefix) for prefix in _PREFIXES if plain.startswith(prefix))):
        in_place = spelled[:-1] if spelled.endswith("_") and not spelled.endswith("__") else spelled
        for name in (spelled, in_place):
            name = EXTREME_OF_MANY.get(_ALIASES.get(name, name), _ALIASES.get(name, name))
            if name in NAMES:
                return name
    return OPAQUE


def straighten(node: Node) -> None:
    """The usual order of operands, and what `max` and `min` are of two tensors."""
    if node.written in REVERSED and len(node.inputs) == 2:
        node.inputs = node.inputs[::-1]
        node.name = FORWARD.get(node.name, node.name)
    elif node.written in EXTREME_OF_TWO and len(node.inputs) == 2:
        node.name = EXTREME_OF_TWO[node.written]


def plain(written: str) -> str:
    """Without the marks of an operation in place or on lists: `_foreach_mul_` is `mul`."""
    return written.removeprefix("_foreach_").rstrip("_") if not written.startswith("__") else written
