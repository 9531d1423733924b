"""Looks which number the next descriptor gets, and what becomes of the first three."""
import os

first = os.open("script.py", os.O_RDONLY)
print(first, os.get_inheritable(first), [os.get_inheritable(number) for number in range(3)])
print([os.get_blocking(number) for number in range(3)], os.isatty(2))
