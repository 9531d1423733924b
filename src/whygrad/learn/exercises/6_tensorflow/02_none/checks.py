def ask(draw):
    """Of five variables one is multiplied by zero, one or two are unused or cut, and the others are used."""
    places = draw.wholes(5, 0, 10_000)
    order = sorted(range(5), key=lambda place: (places[place], place))
    return {"values": draw.numbers(5), "zero": order[0], "unused": order[1], "cut": order[2]}


def observe(code, asked):
    import tensorflow as tf

    variables = [tf.Variable(value) for value in asked["values"]]
    with tf.GradientTape() as tape:
        parts = [variable**2 for variable in variables]
        parts[asked["zero"]] *= 0.0
        parts[asked["cut"]] = tf.stop_gradient(parts[asked["cut"]])
        loss = tf.add_n([part for place, part in enumerate(parts) if place != asked["unused"]])
    return {"found": code.unreached(tape, loss, variables)}


def judge(asked, seen):
    found, zero = seen["found"], asked["zero"]
    right = sorted((asked["unused"], asked["cut"]))
    if not isinstance(found, list):
        yield f"unreached() should return a list of places, and returns {found}"
        return
    if not found:
        yield "nothing was found: the tape was told to give zeros for what it does not reach, so that no None is left"
    if any(place is None for place in found):
        yield "the list holds the gradients themselves, which are None: enumerate(gradients) gives their places"
    if found == [place for place in range(5) if place not in right]:
        yield "these are the variables that the loss does reach; the others are asked for"
    if zero in found:
        yield f"the variable at place {zero} has a gradient, of zero: there is a way, on which nothing comes back this time"
    if found != right:
        yield f"the loss does not reach the variables at {right}, and the list says {found}"
