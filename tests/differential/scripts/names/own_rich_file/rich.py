print("my rich is imported")
wealth = 7
