import torch
import torch.nn as nn

torch.set_num_threads(1)


class Memory(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.cell = nn.GRUCell(2, width)

    def forward(self, obs, before):
        return torch.tanh(self.cell(obs, before))


class Agent:
    def __init__(self, width=12):
        self.memory, self.head = Memory(width), nn.Linear(width, 2)
        self.optimizer = torch.optim.Adam([*self.memory.parameters(), *self.head.parameters()], lr=5e-3)
        self.width = width
        self.reset()

    def reset(self):
        self.context = torch.zeros(4, self.width)

    def act(self, obs):
        self.summary = self.memory(obs, self.context)
        self.q = self.head(self.summary)
        return self.q.detach().argmax(1)

    def learn(self, action, reward):
        loss = (self.q.gather(1, action[:, None]).squeeze(1) - reward).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.context = self.summary.detach()
        return loss.item()


def main():
    torch.manual_seed(0)
    agent = Agent()
    for episode in range(6):
        agent.reset()
        losses = []
        for _ in range(10):
            obs = torch.randn(4, 2)
            action = agent.act(obs)
            losses.append(agent.learn(action, (action == (obs[:, 0] > 0).long()).float()))
        print(f"episode {episode} loss {sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    main()
