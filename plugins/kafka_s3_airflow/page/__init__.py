"""The page: every connector's export and each one's commits, inside Airflow's UI and behind its login.

`static/` is what the browser gets: one page, one style sheet, one script.

- `mount`: what all of Airflow's processes import: where the page is mounted.
- `app`: the web layer, made at the first request.
- `folder`: the folder of connector files, read again when it changes.
- `observer`: asks buckets and brokers in the background.
- `answers`: the bodies of answers, and whether they have changed.
- `remembered_entries`: log entries are read once.
- `background_answers`: answers that are refreshed in the background.
- `thread_pool`: a bounded pool of threads for what takes a moment.
- `model`: what the page knows of a connector.
- `runs`: asks Airflow's database about runs.
- `history`: the commits of a connector, a page at a time.
- `commit_facts`: the numbers of each commit, read once and kept packed.
- `entry_schemas`: under which schemas a commit's values were written.
- `charts`: commits by hour, day and month.
- `lags`: what waited in Kafka, each time that it answered.
- `over_time`: the routes of these.
- `inside_views`: schemas and reasons of refusals, from an entry.
- `inside`: the first rows of an object, for who may see them.
- `sample_process`: reads them, in a process of its own.
- `at_hand`: what every route has at hand.
- `views`: all that as the plain values that the browser gets.
- `remedies`: what to do about a state, as commands.
- `plain`: the list without a script.
- `actions`: what a viewer may do about it.
- `previews`: what an operation would do.
- `bounded_store`: a bucket of which a preview reads so much and no more.
- `scrape`: all that as metrics.
- `access`: who may see which connector.
- `headers`: the headers of every answer.
- `hiding`: what no answer shows.
"""
