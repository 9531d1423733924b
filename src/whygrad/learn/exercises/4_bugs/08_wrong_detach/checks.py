from whygrad.learn import curing
from whygrad.learn.curing import ask, observed

__all__ = ["ask", "judge", "observe"]


def observe(code, asked):
    return observed(code, asked, "WG903", steps=1600)


def judge(asked, seen):
    largest = max(abs(value) for value in seen["WG903"].values())
    if not seen.findings and not largest < 3:
        yield f"a value has run away to {largest:.3g}, where 1 is the most: the target is trained and the prediction is the constant"
    yield from curing.judge(asked, seen)
