MINE = "my probe"
print(__name__, "is imported")
