print("queue is imported")
MINE = "my queue"
