def ask(draw):
    return {"devices": ["meta", "cpu"]}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import tensor

    out = {}
    for device in asked["devices"]:
        net = torch.nn.Linear(3, 2)
        found = tensor(code.forward(net, torch.randn(5, 3), torch.device(device)), "the output", (5, 2))
        out[device] = [found.device.type, net.weight.device.type]
    return out


def raised(error):
    if "device" in error.text or "meta" in error.text:
        return "network and states lie on different devices; states.to(device) returns the moved tensor, keep it"
    return ""


def judge(asked, seen, right):
    if seen["meta"] == ["cpu", "cpu"]:
        yield "asked for device 'meta', the output lies on 'cpu': nothing was moved"
    if seen["cpu"] != ["cpu", "cpu"]:
        yield f"asked for device 'cpu', the output lies on {seen['cpu'][0]!r}: use the argument, not a fixed name"
    if seen["meta"][0] == "cpu":
        yield "the output was moved back: it should stay on the device that was asked for"
    if seen != right:
        yield f"output and network should lie on {right['meta']}, and lie on {seen['meta']}"
