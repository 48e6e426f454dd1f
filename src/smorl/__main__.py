"""`python -m smorl` is the `smorl` command."""

from smorl.cli import main

code = main()
# Python ends by SIGINT, whatever the code, when an interrupt was the last to leave a text that was
# executed, and making a dataclass executes one. This text ends well.
exec("")
raise SystemExit(code)
