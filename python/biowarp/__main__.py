"""``python -m biowarp`` is the ``biowarp`` command."""

from biowarp._program import main

main()
