# One image for Airflow's services, Spark's master and its workers: driver and executors have the same Python and engine.
FROM python:3.12.13-slim-bookworm

# Java runs Spark; Spark's scripts call ps.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/*

# The versions are those of constraints.txt, with which the tests ran. The plugin comes along as an entry point.
WORKDIR /opt/kafka-s3
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY jobs/ jobs/
COPY plugins/ plugins/
RUN pip install --no-cache-dir --constraint constraints.txt ".[postgres]"
COPY dags/ dags/

RUN useradd --uid 50000 --create-home airflow \
    && install --directory --owner=airflow --group=airflow /opt/airflow /opt/airflow/logs
ENV AIRFLOW_HOME=/opt/airflow
USER airflow
