"""A small progress bar on standard error."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Bar:
    """Call it with (done, total). On a terminal one line is redrawn; elsewhere a line comes at each tenth."""

    WIDTH = 30

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._start = time.monotonic()
        self._drawn_at = 0.0
        self._tenth = 0

    def __call__(self, done: int, total: int) -> None:
        if self._stream.isatty():
            now = time.monotonic()
            if done < total and now - self._drawn_at < 0.1:
                return
            self._drawn_at = now
            self._stream.write("\r" + self._line(done, total) + ("\n" if done >= total else ""))
        elif total > 0 and done * 10 // total > self._tenth:
            self._tenth = done * 10 // total
            self._stream.write(self._line(done, total) + "\n")
        self._stream.flush()

    def _line(self, done: int, total: int) -> str:
        seconds = max(time.monotonic() - self._start, 1e-9)
        filled = self.WIDTH * done // total if total else self.WIDTH
        left = f"{(total - done) * seconds / done:.0f} s left" if done else "..."
        bar = "#" * filled + "." * (self.WIDTH - filled)
        return f"[{bar}] {done}/{total} sequences, {done / seconds:.1f}/s, {left} "
