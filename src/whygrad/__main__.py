"""`python -m whygrad` is the same as `whygrad`."""

import sys

from whygrad.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
