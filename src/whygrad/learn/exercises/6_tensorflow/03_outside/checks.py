from whygrad.learn.judging import close


def ask(draw):
    return {
        "states": draw.table(6, 3),
        "next": draw.table(6, 3),
        "rewards": draw.numbers(6),
        "actions": draw.wholes(6, 0, 1),
    }


def observe(code, asked):
    import tensorflow as tf

    from whygrad.learn.taping import network, weights

    net, target_net = network(3, 2), network(3, 2)
    before, others = weights(net), weights(target_net)
    optimizer = tf.keras.optimizers.SGD(0.1)
    batch = [tf.constant(asked[name]) for name in ("states", "actions", "rewards", "next")]
    for _ in range(3):
        code.update(net, target_net, optimizer, *batch)
    return {"weights": weights(net), "before": before, "target": close(weights(target_net), others, 1e-9)}


def judge(asked, seen, right):
    yield from seen.engine()
    if not seen.updates:
        yield "nothing was trained: no optimizer step was seen"
    if not seen["target"]:
        yield "target_net was changed: the optimizer should get the variables of net only"
    if close(seen["weights"], seen["before"], 1e-9):
        yield "the weights of net are what they were: nothing arrived in them"
    if not close(seen["weights"], right["weights"]):
        yield "net was trained, but not towards reward + 0.9 · (highest value that target_net gives the next state)"
