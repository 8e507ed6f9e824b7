"""Tells people and monitors where an export stands. Reads only.

- `status`: the newest entry beside what Kafka says now.
- `health`: the numbers that alarms and metrics are made of.
- `first_timestamps`: how old the first records of some ranges are.
- `held_back`: records that wait for a transaction.
- `forecast`: what the next run would do.
- `policy`: what AWS has to allow each command.
- `preview`: the objects that given records would become.
"""
