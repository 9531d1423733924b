print("secrets is imported")
MINE = "my secrets"
