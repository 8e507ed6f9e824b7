"""`python -m tools.reference`."""

import sys

from tools.reference import DOCS, stale

for path, text in stale().items():
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    print(f"docs/{path.relative_to(DOCS)}: written anew", file=sys.stderr)
