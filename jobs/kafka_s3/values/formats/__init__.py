"""What an object holds: formats turn rows into bytes, compressors make them smaller.

`lines` is the JSON and the ByteArray format, `block_gzip` the format of lines with an index, `compression` the streams
around them.
"""
