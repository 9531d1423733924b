answer = 43
