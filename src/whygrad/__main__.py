"""`python -m whygrad` is the same as `whygrad`."""

import os
import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:  # What lies in the current folder is the script's, and not for us to import.
        sys.path[0] = os.path.dirname(sys.executable)
    from whygrad.cli.main import main

    sys.exit(main())
