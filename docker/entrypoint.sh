#!/usr/bin/env bash
# Gives Spark its secret in a file that only this container's user can read, and starts the service. Not in an argument,
# in Airflow's connection or in a variable that the service's children would inherit: those are listed and shown.
set -euo pipefail
if [ -n "${SPARK_AUTH_SECRET:-}" ]; then
  mkdir -p "$SPARK_CONF_DIR"
  umask=$(umask)
  umask 077
  {
    cat "$(dirname "${BASH_SOURCE[0]}")/spark-defaults.conf"
    printf 'spark.authenticate.secret %s\n' "$SPARK_AUTH_SECRET"
  } >"$SPARK_CONF_DIR/spark-defaults.conf.new"
  mv "$SPARK_CONF_DIR/spark-defaults.conf.new" "$SPARK_CONF_DIR/spark-defaults.conf"
  umask "$umask"
  unset SPARK_AUTH_SECRET
fi
exec "$@"
