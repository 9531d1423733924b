print("statistics is imported")
MINE = "my statistics"
