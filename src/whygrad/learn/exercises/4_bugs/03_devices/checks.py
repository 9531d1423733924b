from whygrad.learn.curing import ask, judge, observed

__all__ = ["ask", "judge", "observe"]


def observe(code, asked):
    return observed(code, asked, "WG902")


def raised(error):
    if "no data" in error.text:
        return "the loss was computed on 'meta', which has shapes and no numbers: nothing comes back from there; leave values where they are"
    if "device" in error.text:
        return "tensors on two devices meet here, 'cpu' and 'meta': make weights where values are, device=values.device"
    return ""
