MINE = "my run"
print(__name__, "is imported")
