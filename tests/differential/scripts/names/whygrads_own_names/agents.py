MINE = "my agents"
print(__name__, "is imported")
