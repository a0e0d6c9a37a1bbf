"""Processor seconds between starts and stops: other work on the machine hardly moves them. All
contenders here have one thread."""

from __future__ import annotations

import time


class Clock:
    def __init__(self) -> None:
        self.seconds, self.begin = 0.0, None

    def start(self) -> None:
        self.begin = time.process_time()

    def stop(self) -> None:
        if self.begin is not None:
            self.seconds += time.process_time() - self.begin
        self.begin = None
