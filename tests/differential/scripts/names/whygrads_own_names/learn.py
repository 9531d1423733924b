MINE = "my learn"
print(__name__, "is imported")
