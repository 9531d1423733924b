import math

from whygrad.learn.judging import close, said


def ask(draw):
    return {"states": draw.table(6, 3), "goal": draw.number()}


def observe(code, asked):
    import tensorflow as tf

    from whygrad.learn.seeing import WrongError
    from whygrad.learn.taping import network, weights

    net, states = network(3, 1), tf.constant(asked["states"])
    before = weights(net)

    def loss_of(given):
        """The last bias has nothing to do with the loss."""
        hidden = given.layers[0](states)
        return tf.reduce_mean((tf.matmul(hidden, given.layers[1].kernel) - asked["goal"]) ** 2)

    found = code.inspect(net, loss_of)
    if not isinstance(found, (list, tuple)) or len(found) != len(net.trainable_variables):
        raise WrongError("inspect() should return a list with one entry for each of the net's variables")
    if any(tf.is_tensor(entry) for entry in found):
        raise WrongError("an entry is still a tensor: float(…) makes a plain number of one that has no shape")
    with tf.GradientTape() as tape:
        loss = loss_of(net)
    gradients = tape.gradient(loss, net.trainable_variables)
    rows = [None if gradient is None else tf.reshape(gradient, [-1]).numpy().tolist() for gradient in gradients]
    return {"found": list(found), "rows": rows, "moved": weights(net) != before}


def raised(error):
    if "None" in error.text:
        return "one of the gradients is None, and has no norm: say None for it"
    return ""


def judge(asked, seen):
    found, rows = seen["found"], seen["rows"]
    right = [None if row is None else math.hypot(*row) for row in rows]
    reached = [place for place, row in enumerate(rows) if row is not None]
    if seen["moved"]:
        yield "the weights were changed: looking at a step does not take it"
    lost = next((place for place, row in enumerate(rows) if row is None and found[place] is not None), None)
    if lost is not None:
        yield f"the variable at place {lost} has no gradient: None says so, {said(found[lost])} hides it"
    if any(found[place] is None for place in reached):
        yield "a variable that has a gradient got None: was the loss computed inside the tape?"
        return
    if all(close(found[place], sum(rows[place])) for place in reached):
        yield "these are sums: positive and negative numbers cancel out in them; the norm is the root of the sum of squares"
    if all(close(found[place], right[place] ** 2) for place in reached):
        yield "these are the sums of squares; the norm is the square root of it"
    if not all(close(found[place], right[place]) for place in reached):
        yield f"the norms should be {said(right)}, and are {said(found)}"
