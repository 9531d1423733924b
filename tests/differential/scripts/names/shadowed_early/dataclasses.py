print("dataclasses is imported")
MINE = "my dataclasses"
