"""`python -m smorl.cli.child VERB ...`: a `smorl` command that ends with whoever started it.

A node that is killed cannot tell its processes to stop. So the starter holds the other end of our
standard input: when it is gone, in whatever way, so are we and everything we have started. What
was computed since the last copied checkpoint is computed again elsewhere.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from smorl.cli import main


def end_with_starter() -> None:
    """Watch standard input in a thread of its own; its end is ours."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    # Ray blocks Ctrl-C in its workers, and blocked signals are inherited; ours means "save".
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    end_with_starter()
    raise SystemExit(main(sys.argv[1:]))
