print("tomllib is imported")
MINE = "my tomllib"
