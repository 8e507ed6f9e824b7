"""The demo: a topic, a bucket and Airflow here, and the main job on them as a user runs it.

`records` makes the topic, `stage` starts and keeps the servers, `check` reads everything back.
"""
