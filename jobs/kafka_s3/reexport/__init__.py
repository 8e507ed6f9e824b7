"""Exporting a window of time again: its committed records, under a prefix and into a log of its own."""

from kafka_s3.bucket.window_listing import ReexportedWindow, windows

__all__ = ["ReexportedWindow", "windows"]
