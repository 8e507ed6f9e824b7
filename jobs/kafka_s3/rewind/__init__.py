"""Setting positions by hand, and going on in spite of what Kafka lost: a new entry each time.

- `rewind`: the operation.
"""
