MINE = "my report"
print(__name__, "is imported")
