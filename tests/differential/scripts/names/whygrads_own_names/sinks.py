MINE = "my sinks"
print(__name__, "is imported")
