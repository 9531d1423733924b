def ask(draw):
    return {"one": draw.whole(1, 1000), "other": draw.whole(1001, 2000)}


def observe(code, asked):
    first = code.run(asked["one"])
    other = code.run(asked["other"])
    again = code.run(asked["one"])
    return {"first": first, "other": other, "again": again}


def judge(asked, seen, right):
    torch_same = seen["first"][0] == seen["again"][0]
    numpy_same = seen["first"][1] == seen["again"][1]
    if not torch_same and not numpy_same:
        yield "two runs with the same seed differ in everything: random.seed() is for Python's own random module only"
    if not torch_same:
        yield "the noise repeats, the weights do not: numpy is seeded, torch is not; see torch.manual_seed"
    if not numpy_same:
        yield "the weights repeat, the noise does not: torch is seeded, numpy is not; see np.random.seed"
    if seen["first"] == seen["other"]:
        yield f"seeds {asked['one']} and {asked['other']} give the same run: the argument is not used"
    if seen["first"][0] == seen["other"][0] or seen["first"][1] == seen["other"][1]:
        yield "one of the two generators gets the same seed every time, whatever the argument says"
