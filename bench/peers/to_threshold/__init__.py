"""Seconds of training until the evaluation is at a task's threshold; threshold.py runs it."""
