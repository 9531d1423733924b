class Console:
    mine = True
