"""Schemas for topics without any (`export.value.schema=infer`).

- `sampling`: which records of a plan are looked at.
- `schemas`: from the newest entry's schemas and a sample to those that a plan pins.
"""
