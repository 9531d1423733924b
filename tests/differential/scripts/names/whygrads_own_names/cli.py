MINE = "my cli"
print(__name__, "is imported")
