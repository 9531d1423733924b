MINE = "my trace"
print(__name__, "is imported")
