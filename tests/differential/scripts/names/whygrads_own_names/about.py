MINE = "my about"
print(__name__, "is imported")
