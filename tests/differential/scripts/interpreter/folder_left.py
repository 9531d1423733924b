"""Changes its folder, and at last deletes the one that it was started in."""
# args: changed
# args: deleted
import os
import shutil
import sys

import torch

home = os.getcwd()
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
os.mkdir("runs")
os.chdir("runs")
for update in range(8):
    loss = net(torch.randn(4, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save(net.state_dict(), "weights.pt")
with open("log.txt", "w") as file:
    print(loss.item(), file=file)
os.chmod("log.txt", 0o600)
os.symlink("log.txt", "latest")
print(sorted(os.listdir(".")), os.path.basename(os.getcwd()), __file__ == os.path.join(home, "script.py"))
if sys.argv[1] == "deleted":
    shutil.rmtree(home, ignore_errors=True)
    os.chdir("/")
    print(os.path.exists(home))
