MINE = "my main"
print(__name__, "is imported")
