"""What an object holds: formats turn rows into bytes, compressors make them smaller.

`lines` is the JSON and the ByteArray format, `compression` the streams around them.
"""
