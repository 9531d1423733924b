from whygrad.learn.judging import close, said


def ask(draw):
    return {"variable": draw.number(), "constant": draw.number()}


def observe(code, asked):
    import tensorflow as tf

    from whygrad.learn.seeing import WrongError
    from whygrad.learn.taping import tensor

    found = code.slopes(tf.Variable(asked["variable"]), tf.constant(asked["constant"]))
    if not isinstance(found, (list, tuple)) or len(found) != 2:
        raise WrongError(
            "slopes() should return two slopes: tape.gradient(y, [variable, constant]) gives a list of two"
        )
    if found[0] is None:
        raise WrongError(
            "both slopes are None: y was computed outside the tape's `with`, where nothing is written down"
        )
    if found[1] is None:
        raise WrongError(
            "the slope by the constant is None: only variables are watched unasked; say tape.watch(constant)"
        )
    return {"slopes": [tensor(slope, "a slope", ()) for slope in found]}


def raised(error):
    if "non-persistent" in error.text:
        return "the tape was asked twice, and answers once: ask for a list, tape.gradient(y, [variable, constant])"
    return ""


def judge(asked, seen):
    x, c = asked["variable"], asked["constant"]
    right = [2 * x * c, x * x]
    if close(seen["slopes"], [x * x * c, x * x * c]):
        yield "that is y itself, twice; its slopes come from tape.gradient"
    if close(seen["slopes"], right[::-1]):
        yield "the two slopes are exchanged: they come in the order in which they are asked for"
    if not close(seen["slopes"], right):
        yield f"at {x} and {c} the slopes of variable² · constant should be {said(right)}, and are {said(seen['slopes'])}"
