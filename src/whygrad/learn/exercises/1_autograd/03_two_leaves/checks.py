from whygrad.learn.judging import close, said, scaled


def ask(draw):
    a, b = draw.numbers(2)
    return {"a": a, "b": b}


def observe(code, asked):
    from whygrad.learn.seeing import WrongError

    found = code.gradients(asked["a"], asked["b"])
    if not isinstance(found, tuple) or [len(pair) for pair in found] != [2, 2]:
        raise WrongError(
            "gradients() should return two pairs: (x, y) after the first backward, (x, y) after the second"
        )
    return {"first": found[0], "second": found[1]}


def raised(error):
    if "second time" in error.text:
        return "the graph of z is used up by its first backward(); compute z again from x and y before the second"
    return ""


def judge(asked, seen, right):
    first, second = right["first"], right["second"]
    if close(seen["first"], second) and close(seen["second"], second):
        yield "the first pair shows the second backward's numbers: .grad is one tensor that grows; .clone() copies it"
    if close(seen["first"], first[::-1]):
        yield f"the two gradients are the wrong way round: x = {asked['a']} has {said(first[0])}"
    if close(seen["second"], first):
        yield "the second pair equals the first: gradients add up unless somebody clears them, and here nobody should"
    if not close(seen["first"], first):
        yield f"after the first backward x.grad and y.grad are 2x and 2y, {said(first)}, not {said(seen['first'])}"
    if close(seen["second"], scaled(first, 3)):
        yield "the second pair is three times the first: backward() ran three times"
    if not close(seen["second"], second):
        yield f"the second backward adds to the first: {said(second)} is expected, and {said(seen['second'])} is there"
