"""``python -m sumwise`` is the command ``sumwise``."""

import sys

from sumwise.cli import main

sys.exit(main())
