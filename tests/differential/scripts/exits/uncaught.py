"""Ends with an exception that nobody catches, of every kind."""
# args: notes
# args: cause
# args: group
# args: keyboard
# args: wordless
# args: generator
# args: syntax
# args: import
# args: assertion
# args: surrogates
# args: recursion
import sys


class Odd(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def inner(number):
    return 1 / number


def steps():
    try:
        yield 1
    finally:
        print("generator closed")


def notes():
    error = ValueError("with notes")
    error.add_note("first note")
    error.add_note("second\nin two lines")
    raise error


def cause():
    try:
        try:
            inner(0)
        except ZeroDivisionError as error:
            raise KeyError("missing") from error
    except KeyError:
        raise LookupError("in the end")


def group():
    errors = []
    for number in (0, "text"):
        try:
            inner(number)
        except Exception as error:
            errors.append(error)
    raise ExceptionGroup("several", [*errors, ExceptionGroup("more", [OSError(2, "gone", "file.txt")])])


def down(number):
    return down(number + 1)


def recursion():
    try:
        down(0)
    except RecursionError as error:
        raise RuntimeError("too deep") from error.with_traceback(None)


iterator = steps()
next(iterator)
print("ending", flush=True)
kind = sys.argv[1]
if kind in ("notes", "cause", "group", "recursion"):
    globals()[kind]()
elif kind == "keyboard":
    raise KeyboardInterrupt("asked")
elif kind == "wordless":
    raise Odd
elif kind == "generator":
    raise GeneratorExit
elif kind == "syntax":
    exec(compile("x = = 1", "typed in.py", "exec"))
elif kind == "import":
    from collections import nothing_like_it
elif kind == "assertion":
    assert inner(1) == 2, ("not", "equal")
else:
    raise ValueError("\udc80 \x1b[31m red")
