print("json is imported")
MINE = "my json"
