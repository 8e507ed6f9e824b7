"""One range into objects: each record into its object group, and each object into the store once.

- `writer`: from batches to objects; when an object closes.
- `routing`: which object group a record belongs to.
- `chunks`: the slices of a converted batch, one for each group.
- `object_group`: a data object and its companions.
- `uploads`: puts objects under a name that is free, or adopts what is there.
- `rejections`: bad records: who is told, and how many there were for which reason.
- `dead_letter_writer`: the rejected records of a range into one object.
- `window_filter`: the records of a batch that are in a window.
"""
