"""The use cases, over ports.

A run: `run` (the loop), `planner` (what is next), `task` (one range), `uploads` (objects, never overwritten),
`log` (the commit log), `first_use` (owners, and whether the store is good enough), `announce`.
Looking: `status`, `forecast` (what the next run would do), `preview` (what records would become), and `verify` with
`verify_log`, `verify_objects` and `findings`.
"""
