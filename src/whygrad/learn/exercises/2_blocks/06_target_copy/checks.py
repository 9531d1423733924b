def ask(draw):
    return {"last": 35}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import weights

    q_net, target_net = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    copied, disturbed, partly = [], False, False
    for step in range(1, asked["last"] + 1):
        with torch.no_grad():
            for p in q_net.parameters():
                p.add_(torch.randn_like(p))
        before, online = weights(target_net), weights(q_net)
        code.after_step(step, q_net, target_net)
        disturbed |= weights(q_net) != online
        if weights(target_net) != before:
            copied.append(step)
            partly |= weights(target_net) != online
    shared = {p.data_ptr() for p in q_net.parameters()} & {p.data_ptr() for p in target_net.parameters()}
    return {"copied": copied, "disturbed": disturbed, "partly": partly, "shared": bool(shared)}


def judge(asked, seen, right):
    if seen["disturbed"]:
        yield "q_net is changed: the copy goes the wrong way; target_net takes over the weights of q_net"
    if seen["shared"]:
        yield "the two networks now share their memory: what q_net learns, target_net has at once; copy the numbers"
    if not seen["copied"]:
        yield "target_net never changes: `target_net = q_net` only gives a name in this function to another network"
    if seen["copied"] == list(range(1, asked["last"] + 1)):
        yield "target_net follows at every step; it should stand still for nine and follow at the tenth"
    if seen["copied"] != right["copied"]:
        yield f"target_net should follow at steps {right['copied']}, and does at {seen['copied'][:6]}"
    if seen["partly"]:
        yield "after the copy target_net is not the same as q_net: all weights and biases must be copied, as they are"
