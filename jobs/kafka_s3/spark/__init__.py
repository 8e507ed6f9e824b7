"""The export as a Spark application. Records never cross the JVM: tasks run the same `export_range` as everything else.

- `driver`: one run, on Spark, or in its own process while plans are small (`export.spark.records.min`).
- `execute`: ranges out, results back. Executors run its function `work`; the settings are in the closure, pickled.
- `failures`: whether a failure of Spark is a bug of ours, and what to say of it.
- `job`: what spark-submit is given to start the driver.
- `driver_context`: Airflow's connections and secrets, handed to the driver in its environment.
- `encryption`: warns if tasks and their secrets travel in clear text.
- `fingerprint`: whether driver and workers run the same engine.
- `scratch`: temporary files that end with the process.
- `parent_death`: a process ends with the one that started it.
"""
