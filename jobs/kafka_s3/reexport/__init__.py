"""Exporting a window of time again: its committed records, under a prefix and into a log of its own.

- `run`: the operation: plan, execute, commit, or withdraw a window.
- `plan`: which ranges, and from where each is taken.
- `select`: the committed ranges that may hold records of the window.
- `readiness`: whether the main export has all of the window.
- `copies`: copies objects whose records Kafka no longer has.
"""

from kafka_s3.bucket.window_listing import ReexportedWindow, windows

__all__ = ["ReexportedWindow", "windows"]
