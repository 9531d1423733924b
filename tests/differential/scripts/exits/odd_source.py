"""Begins with a byte order mark, has other line ends, a form feed, and no end of its last line."""
# -*- coding: utf-8 -*-

import sys

print("grüß", __doc__[:20], sys.argv)
if True:
	print("tab")
raise ValueError("é")  # the end