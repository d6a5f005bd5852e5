"""`python -m ablate` is `ablate`."""

import sys

from ablate.cli import main

sys.exit(main())
