"""The export as a Spark application. Records never cross the JVM: tasks run the same `export_range` as everything else.

- `driver`: one run, on Spark, or in its own process while plans are small (`export.spark.records.min`).
- `group`: the runs of many connectors in one driver (`export.group`).
- `told`: what a driver writes to its standard output.
- `application`: what a driver has of Spark, whichever that is.
- `execute`: of spark-submit's application: ranges out, results back. The settings are in the closure, pickled.
- `connect`: the same by a Spark Connect server, whose client needs no JVM.
- `connect_server`: where that server is, and how one gets in.
- `connect_failures`: what its failures are, and what to say of them.
- `balance`: groups of ranges, a job each, as many at once as `tasks.max` says.
- `workers`: what a worker does first: it says whether it has this engine.
- `waiting`: says so while an application has no executor.
- `masters`: what is wrong with a Spark master, before Spark waits for it.
- `failures`: whether a failure of Spark is a bug of ours, and what to say of it.
- `reasons`: failures in Spark's own words, as sentences of ours.
- `submit`: what spark-submit is given to start the driver.
- `driver_context`: Airflow's connections and secrets, handed to the driver in its environment.
- `encryption`: warns if tasks and their secrets travel in clear text.
- `bundle`: the engine and what it needs as one archive for workers that have nothing installed.
- `fingerprint`: whether driver and workers run the same engine.
- `scratch`: temporary files that end with the process.
- `parent_death`: a process ends with the one that started it.
"""
