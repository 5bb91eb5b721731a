"""``python -m vqpu``."""

import sys

from vqpu.cli import main

sys.exit(main())
