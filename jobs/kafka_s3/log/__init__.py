"""The commit log: what is exported. The newest entry alone is the state; an entry is never edited and never deleted.

- `entries`: what plans and entries say.
- `value_schema`: the schema of a topic's values, where it is inferred.
- `documents`: the bytes of these, and when they are not to be believed.
- `signed_documents`: reads and writes documents: signed, or refused.
- `epochs`: which log is the connector's.
- `emptied`: whether somebody deleted entries.
- `store`: reads and writes the log over an object store, put-if-absent.
- `plans`: plans in the bucket: new, inherited, closed.
- `replay`: which ranges and gaps count after rewinds and restarts.
- `progress`: up to which time the export is complete.
- `confirmations`: documents older than the signing key that a person confirmed.
"""
