MINE = "my capture"
print(__name__, "is imported")
