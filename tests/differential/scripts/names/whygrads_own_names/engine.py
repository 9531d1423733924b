MINE = "my engine"
print(__name__, "is imported")
