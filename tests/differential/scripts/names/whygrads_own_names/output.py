MINE = "my output"
print(__name__, "is imported")
