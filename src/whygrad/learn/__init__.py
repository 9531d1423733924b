"""Autograd for reinforcement learning, by doing: exercises, and a tutor that sees the graph.

    whygrad learn

An exercise is a folder in `exercises/<track>/<nn_name>/`; `course.py` says what lies in it. A learner's file is run
by `worker.py` in a process of its own (`attempt.py`), and judged here from what it answered (`checking.py`).
"""
