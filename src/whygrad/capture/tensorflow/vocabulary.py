"""What TensorFlow's operations mean for the flow of gradient, by type (read off TensorFlow 2.15 and 2.21).

The same mathematics goes by one name, whoever computed it.
"""

from __future__ import annotations

import re

from whygrad.trace import Kind
from whygrad.trace.operations import NAMES as NAMED
from whygrad.trace.operations import OPAQUE

NAMES = {
    "Add": "add", "AddV2": "add", "AddN": "add", "Sub": "sub", "Mul": "mul", "RealDiv": "div", "Div": "div",
    "DivNoNan": "div", "Xdivy": "div", "Neg": "neg", "Mean": "mean", "Sum": "sum", "Max": "amax", "Min": "amin",
    "Square": "square", "SquaredDifference": "mse_loss", "Abs": "abs", "Pow": "pow", "Sqrt": "sqrt",
    "Log": "log", "Log1p": "log1p", "Xlogy": "xlogy", "Exp": "exp", "Lgamma": "lgamma",
    "LogSoftmax": "log_softmax", "Softmax": "softmax", "Sigmoid": "sigmoid", "Softplus": "softplus", "Tanh": "tanh",
    "Relu": "relu", "Maximum": "maximum", "Minimum": "minimum", "Select": "where", "SelectV2": "where",
    "ClipByValue": "clamp", "GatherV2": "select", "GatherNd": "select", "ResourceGather": "embedding",
    "StridedSlice": "select", "Slice": "select", "Reshape": "reshape", "Squeeze": "squeeze",
    "ExpandDims": "unsqueeze", "Pack": "stack", "ConcatV2": "cat", "Unpack": "unbind", "Split": "split",
    "SplitV": "split", "Identity": "clone", "IdentityN": "clone", "Cast": "to", "Transpose": "permute",
    "Tile": "repeat", "BroadcastTo": "expand", "MatMul": "matmul", "BatchMatMulV2": "matmul", "Einsum": "einsum",
    "BiasAdd": "bias_add", "SoftmaxCrossEntropyWithLogits": "cross_entropy",
    "SparseSoftmaxCrossEntropyWithLogits": "cross_entropy", "RandomStandardNormal": "random", "RandomUniform": "random",
    "TruncatedNormal": "random", "StatelessRandomNormalV2": "random", "StatelessRandomUniformV2": "random",
    "StatelessTruncatedNormalV2": "random", "Multinomial": "multinomial", "StatelessMultinomial": "multinomial",
    "ArgMax": "argmax", "ArgMin": "argmin", "StopGradient": "stop_gradient", "PreventGradient": "stop_gradient",
    "PyFunc": "numpy_function", "EagerPyFunc": "py_function", "Conv2D": "conv2d", "Conv1D": "conv1d",
    "Conv3D": "conv3d", "DepthwiseConv2dNative": "conv2d", "CudnnRNN": "rnn",
}  # fmt: skip
DISCRETE = frozenset(
    """ArgMax ArgMin Round Rint Floor Ceil Sign FloorDiv FloorMod Multinomial StatelessMultinomial OneHot TopKV2 Greater
    GreaterEqual Less LessEqual Equal NotEqual LogicalAnd LogicalOr LogicalNot Bucketize RandomUniformInt InTopKV2
    RandomPoissonV2 StatelessRandomPoisson StatelessRandomBinomial StatelessRandomUniformInt""".split()
)
DETACHING = frozenset({"StopGradient", "PreventGradient"})
LEAVING = frozenset({"PyFunc"})
CALLING = frozenset({"EagerPyFunc"})
APPLYING = frozenset({"MatMul", "BatchMatMulV2", "Einsum", "Conv1D", "Conv2D", "Conv3D", "DepthwiseConv2dNative"})
"""They apply weights where one of their operands is a parameter."""
WEIGHTED = frozenset({"ResourceGather", "CudnnRNN", "BiasAdd"})
SELECTING = {
    "GatherV2": (1, 2), "GatherNd": (1,), "ResourceGather": (1,), "StridedSlice": (1, 2, 3), "Slice": (1, 2),
    "Select": (0,), "SelectV2": (0,), "SparseSoftmaxCrossEntropyWithLogits": (1,), "OneHot": (1, 2, 3),
}  # fmt: skip
"""Operands that choose among values."""
IGNORED = frozenset(
    """Const Placeholder PlaceholderWithDefault VarHandleOp NoOp Shape ShapeN Rank Size Assert DestroyResourceOp
    VarIsInitializedOp VariableShape Range ZerosLike OnesLike Fill BroadcastGradientArgs IsFinite IsNan MutexLock
    WriteScalarSummary WriteHistogramSummary WriteSummary FlushSummaryWriter SummaryWriter CreateSummaryFileWriter
    PartitionedCall StatefulPartitionedCall LoopCond""".split()
)
"""They make data or nothing, or are shown in another way."""
ASSIGNING = frozenset({"AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "ResourceScatterUpdate"})
BRANCHING = {"If": ("then_branch", "else_branch"), "StatelessIf": ("then_branch", "else_branch")}
LOOPING = {"While": ("body",), "StatelessWhile": ("body",)}


def kind(operation: str, *, into_float: bool, from_float: bool) -> Kind:
    """What the operation does to gradient; a cast to whole numbers ends it."""
    if operation in DETACHING:
        return Kind.DETACH
    if operation in LEAVING:
        return Kind.LEAVE
    if operation in CALLING:
        return Kind.FUNCTION
    if operation in DISCRETE or (operation == "Cast" and from_float and not into_float):
        return Kind.DISCRETE
    return Kind.COMPUTE


SPELLED = {"stop_gradient": "detach", "numpy_function": "leave", "numpy": "leave", "__array__": "leave"} | {
    "__float__": "leave", "__int__": "leave", "square": "pow", "constant": "copy",
}  # fmt: skip


def canonical(written: str) -> str:
    """The name in a trace."""
    name = SPELLED.get(written, written)
    return name if name in NAMED else OPAQUE


def written(operation: str, kind: Kind) -> str:
    if operation == "Cast" and kind is Kind.DISCRETE:
        return "cast"
    return NAMES.get(operation) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation).lower()
