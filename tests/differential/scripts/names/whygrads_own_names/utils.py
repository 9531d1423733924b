MINE = "my utils"
print(__name__, "is imported")
