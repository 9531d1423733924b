print("colorsys is imported")
MINE = "my colorsys"
