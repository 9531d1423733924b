def ask(draw):
    return {"capacity": draw.whole(6, 9)}


def observe(code, asked):
    from whygrad.learn.seeing import WrongError, tensor

    memory = code.Replay(asked["capacity"])
    for n in range(20):
        memory.add(([float(n), -float(n)], n % 2, float(10 * n), [float(n + 1), 0.0], float(n % 3 == 0)))
    found = memory.sample(400)
    if not isinstance(found, (list, tuple)) or len(found) != 5:
        raise WrongError(
            "sample() should return five tensors, one per column: states, actions, rewards, next states, done"
        )
    states, actions, rewards, following, done = (tensor(c, f"column {i} of a sample") for i, c in enumerate(found))
    shapes = [list(c.shape) for c in (states, actions, rewards, following, done)]
    first = states.reshape(len(states), -1)[:, 0] if states.dim() > 1 else states
    matching = shapes[0] == [400, 2] and bool((rewards == 10 * first).all() and (following[:, 0] == first + 1).all())
    return {"shapes": shapes, "rows": sorted(set(first.tolist())), "length": len(memory.rows), "matching": matching}


def judge(asked, seen, right):
    newest = [float(n) for n in range(20 - asked["capacity"], 20)]
    if seen["length"] > asked["capacity"]:
        yield f"{seen['length']} rows are kept, {asked['capacity']} are the limit: forget the oldest when there are more"
    if seen["rows"] and max(seen["rows"]) < 19:
        yield f"the newest rows are gone and the oldest stay: row {max(seen['rows']):g} is the last, 19 was added; drop from the front"
    if seen["shapes"][0] != [400, 2]:
        yield f"a sample of 400 states should have the shape [400, 2], and has {seen['shapes'][0]}: zip(*rows) turns rows into columns"
    if not seen["matching"]:
        yield "the columns do not belong together: state, reward and next state of a sample come from different rows; draw rows once"
    if seen["rows"] != newest:
        yield f"400 draws from {asked['capacity']} rows should meet all of them, and met {len(seen['rows'])}: draw at random, with replacement"
