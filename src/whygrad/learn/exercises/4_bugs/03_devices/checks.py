from whygrad.learn.curing import ask, judge, observed

__all__ = ["ask", "judge", "observe"]


def observe(code, asked):
    return observed(code, asked, "WG902")


def raised(error):
    if "expected device meta" in error.text:
        return "values lie on 'cpu' and weights on 'meta': make weights where values are, device=values.device"
    if "expected device cpu" in error.text:
        return "the network was moved to 'meta' and its input was not: what is made in the update follows the network, not the other way round"
    return ""
