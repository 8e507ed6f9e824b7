"""The exporter in Airflow: DAGs made of connector files, their three tasks, the plugin."""
