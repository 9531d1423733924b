import math

from whygrad.learn.judging import close, said


def ask(draw):
    return {"states": draw.table(6, 3), "most": draw.number(0.2, 0.6), "step": draw.whole(3, 90)}


def observe(code, asked):
    import tensorflow as tf

    from whygrad.learn.taping import network, numbers, weights

    written, steps = {}, []

    def write(name, data, step=None):
        written[name] = numbers(data)
        steps.append(step)

    net = network(3, 1)
    before = weights(net)
    with tf.GradientTape() as tape:
        loss = 50 * tf.reduce_mean((net(tf.constant(asked["states"])) - 3) ** 2)
    optimizer = tf.keras.optimizers.SGD(0.1)
    code.train_step(net.trainable_variables, optimizer, tape, loss, asked["most"], write, asked["step"])
    out = {"tags": sorted(written), "steps": sorted(set(map(str, steps))), "trained": weights(net) != before}
    for kind in ("raw", "clipped"):
        rows = [row for tag, row in written.items() if tag.startswith(f"{kind}/")]
        out[kind] = math.sqrt(sum(number * number for row in rows for number in row))
        out[f"{kind} largest"] = max((math.hypot(*row) for row in rows), default=0.0)
    out["moved"] = math.dist(weights(net), before) / 0.1
    return out


def judge(asked, seen, right):
    most = asked["most"]
    if not seen["tags"]:
        yield "nothing was written: call write(name, values, step=step) for every gradient"
    missing = sorted(set(right["tags"]) - set(seen["tags"]))
    if missing:
        yield f"{missing[0]!r} is missing; written were {', '.join(seen['tags'])}"
    if seen["steps"] != right["steps"]:
        yield f"the histograms should belong to step {right['steps'][0]}, and belong to {', '.join(seen['steps'])}: pass step=step on"
    if close(seen["raw"], right["clipped"], 1e-2):
        yield "the raw ones are clipped already: write them before tf.clip_by_global_norm"
    if close(seen["clipped"], right["raw"], 1e-2):
        yield "the clipped ones have the raw norm: tf.clip_by_global_norm changes nothing in place, it returns the clipped list"
    if seen["clipped"] > 1.01 * most and seen["clipped largest"] < 1.01 * most:
        yield f"each gradient was clipped by itself: together they have a norm of {said(seen['clipped'])}, and the limit is {most}"
    if not close([seen["raw"], seen["clipped"]], [right["raw"], right["clipped"]], 1e-2):
        yield f"the norms of the raw and clipped gradients should be {said([right['raw'], right['clipped']])}, and are {said([seen['raw'], seen['clipped']])}"
    if not close(seen["moved"], right["moved"], 1e-2):
        yield f"the step should be as long as a gradient of norm {most}, and is as long as one of {said(seen['moved'])}: apply the clipped ones"
