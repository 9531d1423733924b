MINE = "my telemetry"
print(__name__, "is imported")
