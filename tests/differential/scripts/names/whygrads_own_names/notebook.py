MINE = "my notebook"
print(__name__, "is imported")
