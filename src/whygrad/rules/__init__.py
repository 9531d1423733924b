"""One file per rule: its docstring is its page, its example blocks are its tests."""
