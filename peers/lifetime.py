"""Ends a server that a test forgot: with its standard input, if that is a pipe, or after some time."""

import os
import stat
import sys
import threading


def bounded(seconds):
    """Ends this process when the pipe on standard input closes, or after so many seconds."""

    def end():
        os._exit(0)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()

    def watch():
        while sys.stdin.buffer.read1(65536):
            pass
        end()

    # Not a terminal, nor /dev/null, which is at its end at once.
    if stat.S_ISFIFO(os.fstat(0).st_mode) or stat.S_ISSOCK(os.fstat(0).st_mode):
        threading.Thread(target=watch, daemon=True).start()
