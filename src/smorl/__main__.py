"""`python -m smorl` is the `smorl` command."""

from smorl.cli import main

raise SystemExit(main())
