"""`python -m broadloom`: the program, with Gymnasium's environments as gymnasium/<id>."""

import sys

from .training import main

sys.exit(main())
