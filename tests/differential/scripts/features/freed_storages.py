"""Frees the memory of its weights between uses and fills it again, as sharded training does."""
import torch

torch.manual_seed(0)


class Freed(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer, self.kept = layer, [p.detach().clone() for p in layer.parameters()]
        self.free()

    def free(self):
        for p in self.layer.parameters():
            p.untyped_storage().resize_(0)

    def gather(self, *_):
        with torch.no_grad(), torch.autograd._unsafe_preserve_version_counter(tuple(self.layer.parameters())):
            for p, kept in zip(self.layer.parameters(), self.kept):
                p.untyped_storage().resize_(kept.untyped_storage().size())
                p.copy_(kept)

    def forward(self, x):
        self.gather()
        out = self.layer(x)
        self.free()
        out.register_hook(self.gather)
        return out


net = torch.nn.Sequential(Freed(torch.nn.Linear(3, 4)), torch.nn.Tanh(), Freed(torch.nn.Linear(4, 1)))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for update in range(30):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for part in (net[0], net[2]):
        part.kept = [p.detach().clone() for p in part.layer.parameters()]
        part.free()
print([kept.sum().item() for part in (net[0], net[2]) for kept in part.kept], loss.item())
