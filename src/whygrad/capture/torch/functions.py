"""Functions as torch wrote them: a script may put its own in their place, to count them or to forbid them."""

from __future__ import annotations

from typing import Any

import torch

aminmax = torch.aminmax
arange = torch.arange
bincount = torch.bincount
capturing = torch.cuda.is_current_stream_capturing
cat = torch.cat
count_nonzero = torch.count_nonzero
differentiate: Any = torch.autograd.grad
empty = torch.empty
equal = torch.equal
foreach_norm: Any = torch._foreach_norm
foreach_sub: Any = torch._foreach_sub
initialized = torch.cuda.is_initialized
isfinite = torch.isfinite
isnan = torch.isnan
ones_like = torch.ones_like
recorded = torch.is_grad_enabled
repeat_interleave = torch.repeat_interleave
stack = torch.stack
tensor = torch.tensor
vector_norm: Any = torch.linalg.vector_norm
view_as_real = torch.view_as_real
zeros = torch.zeros
