MINE = "my config"
print(__name__, "is imported")
