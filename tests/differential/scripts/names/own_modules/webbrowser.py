print("webbrowser is imported")
MINE = "my webbrowser"
