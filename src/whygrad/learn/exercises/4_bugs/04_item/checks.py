from whygrad.learn.curing import ask, judge, observed

__all__ = ["ask", "judge", "observe"]


def observe(code, asked):
    return observed(code, asked, "WG902")


def raised(error):
    if error.kind == "AttributeError" and "float" in error.text:
        return (
            "loss is a plain number and has no backward(): keep the tensor, and take .item() of it for the history only"
        )
    return ""
