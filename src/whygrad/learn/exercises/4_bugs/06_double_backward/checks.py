from whygrad.learn import curing
from whygrad.learn.curing import ask, observed

__all__ = ["ask", "judge", "observe"]


def observe(code, asked):
    return observed(code, asked, "WG902")


def judge(asked, seen):
    left, right = seen["WG902"].values()
    if not seen.findings and right - left < 1:
        yield f"the value is not learnt, {left:+.2f} and {right:+.2f} where -1 and +1 are right: its loss is not in what goes back"
    yield from curing.judge(asked, seen)
