import torch
from torch import nn

torch.set_num_threads(1)
VOCAB, LENGTH = 8, 6


def average(values, valid, over):
    return (values * valid).sum() / over.clamp(min=1)


def update(policy, sgd, tokens, valid, advantage):
    order = torch.randperm(len(tokens))
    sgd.zero_grad()
    for rows in order.chunk(4):
        inputs, chosen, ok = tokens[rows, :-1], tokens[rows, 1:], valid[rows]
        logp = policy(inputs).log_softmax(-1).gather(2, chosen[..., None]).squeeze(2)
        loss = average(-logp * advantage[rows][:, None], ok, valid.sum())
        loss.backward()
    sgd.step()


def main():
    torch.manual_seed(5)
    policy = nn.Sequential(nn.Embedding(VOCAB, 16), nn.Tanh(), nn.Linear(16, VOCAB))
    sgd = torch.optim.SGD(policy.parameters(), lr=0.3)
    for step in range(8):
        tokens = torch.randint(0, VOCAB, (24, LENGTH + 1))
        valid = (torch.arange(LENGTH) < torch.randint(2, LENGTH + 1, (24, 1))).float()
        score = ((tokens[:, 1:] == 3).float() * valid).sum(1)
        update(policy, sgd, tokens, valid, score - score.mean())
        print(f"step {step} score {score.mean():.3f}")


if __name__ == "__main__":
    main()
