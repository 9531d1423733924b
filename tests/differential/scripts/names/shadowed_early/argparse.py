print("argparse is imported")
MINE = "my argparse"
