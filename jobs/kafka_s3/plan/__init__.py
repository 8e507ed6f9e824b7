"""What the next commit covers: from the newest entry and Kafka's answers to a plan. Nothing here writes.

- `planner`: takes a snapshot of Kafka, and makes the next plan.
- `ends`: where partitions end for a point in time.
- `batch`: end offsets, shares and splits: the arithmetic of a batch.
- `schedule`: the boundaries of a schedule.
- `passed_interval`: excluded partitions that the run's interval does not concern.
- `anomalies`: how Kafka can differ from the log, and what accepting it means.
- `changes`: what changed in Kafka between plan and commit.
- `snapshot_retry`: repeats a snapshot when topics changed while it was taken.
- `results`: what tasks are given, and what they return.
"""
