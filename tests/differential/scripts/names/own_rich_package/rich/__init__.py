print("my rich is imported")
