print("sched is imported")
MINE = "my sched"
