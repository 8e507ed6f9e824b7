#!/usr/bin/env bash
# Run a command without the variables that would steer Airflow, Spark, Python, boto3 or this project from outside.
set -euo pipefail
for name in $(compgen -e); do
  case $name in
    KAFKA_S3_CACHE) ;;
    AIRFLOW_* | SPARK_* | PYSPARK_* | AWS_* | KAFKA_S3_* | HADOOP_CONF_DIR | PYTHONPATH | PYTHONHOME | \
      PYTHONDONTWRITEBYTECODE | VIRTUAL_ENV)
      unset "$name"
      ;;
  esac
done
exec "$@"
