from whygrad.learn.judging import close, said


def ask(draw):
    return {"table": draw.table(8, 3), "actions": draw.wholes(8, 0, 2)}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import differentiable, tensor

    table = torch.tensor(asked["table"], requires_grad=True)
    found = tensor(code.chosen(table, torch.tensor(asked["actions"])), "what chosen() returns", (8,))
    differentiable(found.sum(), table, what="the sum of what chosen() returns")
    return {"chosen": found}


def raised(error):
    if "same number of dimensions" in error.text:
        return "gather wants an index with as many dimensions as the table: actions.unsqueeze(1) is (8, 1)"
    if "out of bounds" in error.text:
        return "the index is larger than this dimension: dim 0 counts states, dim 1 counts actions"
    return ""


def judge(asked, seen, right):
    table, actions, found = asked["table"], asked["actions"], seen["chosen"]
    if close(found, [max(row) for row in table]):
        yield "these are the highest entries of each row; asked for are those of the given actions"
    if close(found, [table[a][0] for a in actions]):
        yield "gather(0, ...) walks down a column: every number comes from column 0; the actions are columns, so dim is 1"
    if close(found, [row[0] for row in table]):
        yield "every number comes from column 0: the actions are not used"
    if not close(found, right["chosen"]):
        yield f"row by row the entries are {said(right['chosen'])}, and yours are {said(found)}"
