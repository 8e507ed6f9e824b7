"""What spark-submit runs: one run of one connector. The engine is the package beside this file, or the installed."""

import sys

from kafka_s3.spark.driver import main

if __name__ == "__main__":
    sys.exit(main())
