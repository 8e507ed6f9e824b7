"""What becomes of dead letters once their commit is in: they are sent to their topic, and back to where they came from.

`write.dead_letter_writer` writes them, `bucket.dead_letter_objects` reads them.

- `delivery`: sends committed dead letters to their topic, at least once and in order.
- `live`: which dead letters still count after rewinds and restarts.
- `redrive`: sends dead letters back to their topic, or to another.
"""
