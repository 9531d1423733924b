MINE = "my finding"
print(__name__, "is imported")
