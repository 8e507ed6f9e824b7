"""The use cases, over ports.

A run: `run` (the loop), `planner` (what is next), `task` (one range), `uploads` (objects, never overwritten),
`outcome` (what can be committed), `entries` and `log` (the commit log), `first_use` (owners, and whether the store is
good enough), `schemas`, `announce`.
Looking: `status`, `forecast` (what the next run would do), `preview` (what records would become), `verify/`.
By hand: `rewind` (positions), `adopt/` (a bucket without a log), `garbage/` (what dead runs left), `letters/`.
"""
