from whygrad.learn.curing import ask, judge, observed

__all__ = ["ask", "judge", "observe"]


def observe(code, asked):
    return observed(code, asked, "WG903", steps=1600)
