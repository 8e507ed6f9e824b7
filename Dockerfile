# One image for Airflow's services, Spark's master and its workers: driver and executors have the same Python and engine.
# By tag: no registry could be asked for the digest where this was written. `docker buildx imagetools inspect` prints it:
# append @sha256:... here, and to the images of docker-compose.yml, for builds that cannot change under you.
FROM python:3.12.13-slim-bookworm

# Java runs Spark; Spark's scripts call ps.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/*

# The versions are those of constraints.txt, with which the tests ran, and every file is checked against its SHA-256;
# what builds packages is installed first, so that no build downloads its own. The plugin comes along as an entry point.
WORKDIR /opt/kafka-s3
COPY tools/requirements/ tools/requirements/
RUN pip install --no-cache-dir --require-hashes --requirement tools/requirements/build.txt \
    && pip install --no-cache-dir --require-hashes --no-build-isolation --requirement tools/requirements/image.txt
COPY pyproject.toml README.md LICENSE ./
COPY jobs/ jobs/
COPY plugins/ plugins/
RUN pip install --no-cache-dir --no-build-isolation --no-deps ".[airflow,spark,postgres,protobuf,msk]"
COPY docker/ docker/
COPY dags/ dags/

RUN useradd --uid 50000 --create-home airflow \
    && install --directory --owner=airflow --group=airflow /opt/airflow /opt/airflow/logs
ENV AIRFLOW_HOME=/opt/airflow SPARK_CONF_DIR=/opt/airflow/spark
ENTRYPOINT ["/opt/kafka-s3/docker/entrypoint.sh"]
USER airflow
