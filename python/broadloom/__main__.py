"""`python -m broadloom`: the program. Gymnasium's environments are gymnasium/<id>."""

import sys

from .commands import main

sys.exit(main())
