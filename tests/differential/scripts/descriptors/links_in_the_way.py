"""Has links under the names of whygrad's folder and files, which lead to files of its own."""
# args: folder
# args: files
import os
import sys

os.mkdir("kept")
for name in ("last.json", "last.html", "live.json", ".gitignore"):
    with open(f"kept/{name}", "w") as file:
        file.write("mine\n")
if sys.argv[1] == "folder":
    os.symlink("kept", ".whygrad")
else:
    os.mkdir(".whygrad")
    for name in os.listdir("kept"):
        os.symlink(f"../kept/{name}", f".whygrad/{name}")
import torch

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for update in range(8):
    optimizer.zero_grad()
    net(torch.ones(3)).sum().backward()
    optimizer.step()
print("trained")
