"""Reports: plain data, and the ways to show it."""
