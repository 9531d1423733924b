from whygrad.learn.curing import ask, judge, observed

__all__ = ["ask", "judge", "observe"]


def observe(code, asked):
    return observed(code, asked, "WG903", "WG906", steps=1600)


def raised(error):
    if "incompatible shapes" in error.text.lower():
        return "shapes do not fit: values, rewards and done have shape (N,), the network's output (N, 2)"
    return ""
