MINE = "my source"
print(__name__, "is imported")
