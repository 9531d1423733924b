rows = [1, 2, 3]
