MINE = "my rules"
print(__name__, "is imported")
