# SPDX-License-Identifier: Apache-2.0
"""python -m anello"""

import sys

from anello.cli import main

if __name__ == "__main__":
    sys.exit(main())
