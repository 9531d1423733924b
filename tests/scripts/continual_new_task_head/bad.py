import random
import torch
import torch.nn.functional as F

from agent import ContinualDQN
from tasks import Corridor

torch.set_num_threads(1)


def run_task(agent, env, episodes, eps):
    memory = []
    for ep in range(episodes):
        s, done, total = env.reset(), False, 0.0
        while not done:
            if random.random() < eps:
                a = random.randrange(2)
            else:
                with torch.no_grad():
                    a = int(agent.q_values(s.unsqueeze(0), env.name).argmax())
            s2, r, done = env.step(a)
            memory.append((s, a, r, s2, float(done)))
            s, total = s2, total + r
        if len(memory) >= 32:
            loss = agent.update(random.sample(memory, 32), env.name)
            if ep % 6 == 0:
                print(f"[{env.name}] episode {ep} return {total:.2f} loss {loss:.4f}")


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    agent = ContinualDQN(obs_dim=5)
    for name, goal in (("left", 0), ("right", 4), ("middle", 2)):
        agent.add_task(name)
        run_task(agent, Corridor(name, goal), episodes=18, eps=0.3)
