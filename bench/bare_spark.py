"""What Spark costs before anything of ours: a SparkContext and one empty RDD job."""

from pyspark import SparkContext

with SparkContext(appName="bare") as context:
    context.setLogLevel("WARN")
    context.parallelize([0, 1], 2).map(lambda each: each).collect()
    print("first job done", flush=True)
