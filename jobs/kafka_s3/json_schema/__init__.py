"""What JSON Schema is, as JsonSchemaConverter reads it: schemas as shapes, whichever draft they are of.

- `options`: the options of Confluent's JsonSchemaConverter.
- `documents`: a schema and those it refers to, and what a `$ref` names.
- `shapes`: what a schema says, as the converter tells kinds of schemas apart.
- `keywords`: which words of a schema make which shape.
- `load`: a schema of any draft to its shape.
- `patterns`: the patterns of a schema, and what matching them takes.
- `effort`: what checking a value by a schema can take.
- `validation`: values checked by their schema.
"""
