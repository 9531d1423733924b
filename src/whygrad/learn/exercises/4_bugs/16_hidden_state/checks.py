from whygrad.learn.curing import ask, judge, observed

__all__ = ["ask", "judge", "observe"]


def observe(code, asked):
    return observed(code, asked, "WG902", steps=960)
