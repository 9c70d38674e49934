"""The conductor of a fuzz campaign. scripts/fuzz builds the drivers and starts it; see there for its options."""

import sys

from conductor import main

sys.exit(main(sys.argv[1:]))
