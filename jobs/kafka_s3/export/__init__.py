"""A run: it closes what an earlier driver left open, then plans, executes and commits until nothing is new.

- `run`: the loop.
- `run_state`: where a run stands between two steps.
- `opening`: the plan that comes next, found or new.
- `schemas`: pins the schemas that a plan's values are written under, where these are inferred.
- `commit_counts`: what is told of a commit.
- `closing`: executes a plan, and commits or voids it.
- `advance`: how far the execution of a plan is.
- `checkpoints`: writes down what changed in Kafka: topics at first sight, accepted losses.
- `exporter`: a connector with its settings, its log and its ports.
- `task`: one range, from Kafka to objects.
- `failed_range`: how a range that failed is told.
- `accounting`: of what was executed, what can be committed.
- `append`: builds entries, and says what losing their slot means.
- `quiet_interval`: writes down that an interval had nothing new.
- `marker_progress`: up to when time partitions are marked complete.
- `show_positions`: a consumer group that shows positions to others.
- `sweep`: deletes what dead drivers left, right after a commit.
- `run_report`: how a run went, and its exit status.
- `diagnosis`: what is wrong with an export, and what to do.
"""
