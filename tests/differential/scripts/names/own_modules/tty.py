print("tty is imported")
MINE = "my tty"
