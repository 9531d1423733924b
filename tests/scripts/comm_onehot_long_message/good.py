import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.set_num_threads(1)

N_CONCEPTS, VOCAB, HID = 4, 5, 24


class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(N_CONCEPTS, HID)
        self.out = nn.Linear(HID, VOCAB)

    def forward(self, concept):
        return Categorical(logits=self.out(torch.relu(self.emb(concept))))


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(VOCAB, HID)
        self.out = nn.Linear(HID, N_CONCEPTS)

    def forward(self, message):
        hidden = torch.relu(self.fc(message))
        return Categorical(logits=self.out(hidden))


class Game:
    def __init__(self, batch=64, baseline_decay=0.9):
        self.batch, self.decay, self.baseline = batch, baseline_decay, 0.0
        self.speaker, self.listener = Speaker(), Listener()
        self.opt_s = torch.optim.Adam(self.speaker.parameters(), lr=1e-2)
        self.opt_l = torch.optim.Adam(self.listener.parameters(), lr=1e-2)

    def encode(self, tokens):
        return F.one_hot(tokens, VOCAB).float()

    def play(self):
        concept = torch.randint(0, N_CONCEPTS, (self.batch,))
        d_s = self.speaker(concept)
        token = d_s.sample()
        d_l = self.listener(self.encode(token))
        guess = d_l.sample()
        reward = (guess == concept).float()
        return d_s, token, d_l, guess, reward

    def train_round(self):
        d_s, token, d_l, guess, reward = self.play()
        adv = reward - self.baseline
        self.baseline = self.decay * self.baseline + (1 - self.decay) * reward.mean().item()
        loss_s = -(d_s.log_prob(token) * adv).mean() - 0.02 * d_s.entropy().mean()
        loss_l = -(d_l.log_prob(guess) * adv).mean() - 0.02 * d_l.entropy().mean()
        for opt, loss in ((self.opt_s, loss_s), (self.opt_l, loss_l)):
            opt.zero_grad()
            loss.backward()
            opt.step()
        return reward.mean().item(), loss_s.item(), loss_l.item()


def main(rounds=50):
    torch.manual_seed(8)
    game = Game()
    for i in range(rounds):
        acc, ls, ll = game.train_round()
        if i % 10 == 0:
            print(f"round {i:3d} success {acc:.2f} speaker {ls:+.3f} listener {ll:+.3f}")


if __name__ == "__main__":
    main()
