MINE = "my session"
print(__name__, "is imported")
