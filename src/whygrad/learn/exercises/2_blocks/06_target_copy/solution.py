def after_step(step, q_net, target_net):
    if step % 10 == 0:
        target_net.load_state_dict(q_net.state_dict())
