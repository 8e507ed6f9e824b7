"""The page: every connector's export and each one's commits, inside Airflow's UI and behind its login.

`mount` is all that Airflow's other processes import; `app` is the web layer, made at the first request; `observer`
asks the buckets and brokers in the background; `history` pages through a log; `views` turns what was found into plain
values; `runs` asks Airflow's database. `static/` is what the browser gets: one page, one style sheet, one script.
"""
