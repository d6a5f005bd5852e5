"""`python -m ablate` is `ablate`: its modules do not come from the current folder."""

import contextlib
import sys

from ablate.shell import folder

with contextlib.suppress(OSError):
    folder.come_last()

from ablate.cli import main

sys.exit(main())
