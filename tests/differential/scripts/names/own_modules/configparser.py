print("configparser is imported")
MINE = "my configparser"
