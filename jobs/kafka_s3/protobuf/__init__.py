"""What Protobuf is: schemas as their text, and messages as rows and columns.

Schemas:

- `options`: the options of Confluent's ProtobufConverter.
- `compile`: `.proto` text to descriptors, by Google's own compiler.
- `shapes`: what the converter makes of a message type.

Messages:

- `indexes`: which message type a record names.
- `wire`: bytes checked, one message at a time, with a reason where they are wrong.
- `reader`: a message to plain values, as `avro.model` has them.
- `columns`: all rows of a batch at once.
- `messages`: the fields of a message, and the message that they make.
- `values`: one class for each kind of value that these read.
"""
