"""What Airflow's plugins folder loads: the plugin, unless the installed package brings it through its entry point."""

from importlib.metadata import entry_points

if not entry_points(group="airflow.plugins", name="kafka_s3"):
    from kafka_s3_airflow.plugin import KafkaS3Plugin as KafkaS3Plugin
