"""What operations share about a bucket: what lies where, whose it is, and whether the log is whole.

- `owners`: which connector owns a topic's keys, and whether the store can be used.
- `folders`: where a connector's objects lie, under today's configuration and earlier ones.
- `searches`: the listings that find what an earlier driver left.
- `orphans`: objects that no entry lists, and which of them may be deleted.
- `lost`: orphans that may be the last copy of lost records.
- `audit`: reads a whole log and checks its chain.
- `continuity`: checks that ranges cover every offset once.
- `findings`: what a check found wrong.
- `dead_letter_objects`: reads the dead letters that commits list.
- `dead_letter_marks`: how far dead letters were sent to their topic.
- `window`: a window of time, its name and its settings.
- `window_state`: whether a window is exported.
- `window_names`: which generation a window's next export begins with.
- `window_listing`: the windows that were exported again.
- `window_leftovers`: objects under a window's keys that its commit does not list.
"""
