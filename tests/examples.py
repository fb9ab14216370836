"""How many examples a property is tried on.

`WEIR_TEST_EXAMPLES` multiplies the usual number: `make unit` looks at a tenth, a night's search at fifty times as many.
"""

import os

FACTOR = float(os.environ.get("WEIR_TEST_EXAMPLES", "1"))
# More than the usual number is a search: each run looks elsewhere.
IS_SEARCH = FACTOR > 1


def examples(usual: int) -> int:
    """The number of examples in this run, two at the least."""
    return max(2, round(usual * FACTOR))
