import torch
from torch import nn

torch.set_num_threads(1)
VOCAB, LENGTH, PER_STEP = 9, 5, 2


def token_loss(policy, part):
    logp = policy(part["tokens"][:, :-1]).log_softmax(-1)
    logp = logp.gather(2, part["tokens"][:, 1:, None]).squeeze(2)
    return -(logp * part["advantage"][:, None] * part["valid"]).sum() / part["items"]


def generate():
    tokens = torch.randint(0, VOCAB, (32, LENGTH + 1))
    valid = (torch.arange(LENGTH) < torch.randint(2, LENGTH + 1, (32, 1))).float()
    score = ((tokens[:, 1:] == 4).float() * valid).sum(1)
    columns = {"tokens": tokens, "valid": valid, "advantage": score - score.mean()}
    parts = [{name: column[rows] for name, column in columns.items()} for rows in torch.randperm(32).view(8, 4)]
    for first in range(0, len(parts), PER_STEP):
        window = parts[first : first + PER_STEP]
        for part in window:
            part["items"] = sum(other["valid"].sum() for other in window)
    return parts, score.mean()


def main():
    torch.manual_seed(2)
    policy = nn.Sequential(nn.Embedding(VOCAB, 16), nn.Tanh(), nn.Linear(16, VOCAB))
    sgd = torch.optim.SGD(policy.parameters(), lr=0.2)
    for generation in range(4):
        parts, score = generate()
        for first in range(0, len(parts), PER_STEP):
            for part in parts[first : first + PER_STEP]:
                loss = token_loss(policy, part)
                loss.backward()
            sgd.step()
            sgd.zero_grad()
        print(f"generation {generation} score {score:.3f}")


if __name__ == "__main__":
    main()
