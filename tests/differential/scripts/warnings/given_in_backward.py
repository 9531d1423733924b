"""Warnings that a backward gives, of a loss of two terms: counted, with the line that each names.

torch says some only once per process, others every time; to a filter they may be errors.
"""

# args: once
# args: always
# args: error
# args: anomaly
import sys
import warnings

import torch

how = sys.argv[1]
torch.manual_seed(6)
torch.set_warn_always(how == "always")
layer = torch.nn.Linear(3, 3)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
table = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    sparse = table.to_sparse_csr()
    torch.set_warn_always(always)


def update():
    hidden = layer(torch.ones(3, 3))
    if how == "anomaly":
        loss = (hidden * 0).sqrt().sum() * 0 + hidden.abs().mean()
    else:
        loss = (sparse @ hidden).mean() + 0.5 * hidden.square().mean()
    optimizer.zero_grad()
    try:
        loss.backward()
    except (RuntimeError, UserWarning) as error:
        print(type(error).__name__, str(error)[:60])
    optimizer.step()


with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("error" if how == "error" else "always")
    with torch.autograd.set_detect_anomaly(how == "anomaly"):
        for _ in range(10):
            update()
for warning in seen:
    print(warning.category.__name__, str(warning.message)[:50], warning.lineno if how != "anomaly" else "")
print(layer.weight, len(warnings.filters) > 0, torch.is_warn_always_enabled())
warnings.warn("the last word", stacklevel=1)
