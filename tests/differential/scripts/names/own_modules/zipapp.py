print("zipapp is imported")
MINE = "my zipapp"
