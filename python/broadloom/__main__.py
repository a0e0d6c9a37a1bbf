"""`python -m broadloom`: the program. Gymnasium's environments are gymnasium/<id>."""

import sys

from .training import main

sys.exit(main())
