def forward(net, states, device):
    net.to(device)
    states = states.to(device)
    return net(states)
