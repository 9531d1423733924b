print("html is imported")
MINE = "my html"
