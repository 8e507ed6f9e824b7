"""Random Connect schemas and values: an envelope's parts, and the JSON text that comes of them."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from random import Random
from typing import Any

DATA = "org.apache.kafka.connect.data."
Json = Any

_INTS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
_WORDS = ["", "a", "é", "\u2028", '"', "\\", "\n", "\x1f", "\x0b\\u000b", "\x7f", "😀", "null", "a/b", " spaced out "]
_NAMES = ["a", "b", "c", "id", "name", "Émile", "a-b", "1st", "a b", 'qu"ote', "x.y"]


@dataclass(frozen=True)
class EnvelopeCase:
    """`payload` is JSON text under `schema`; `written` is what JsonConverter writes of it without the envelope."""

    schema: dict[str, Json]
    payload: str
    written: str

    @property
    def envelope(self) -> bytes:
        return envelope(self.schema, self.payload)


def envelope(schema: Json, payload: str) -> bytes:
    return f'{{"schema":{compact(schema)},"payload":{payload}}}'.encode()


def compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def jackson(text: str) -> str:
    """A JSON string as Jackson writes it."""
    return f'"{"".join(map(_jackson, text))}"'


def _jackson(character: str) -> str:
    if character < " " and character not in "\b\t\n\f\r":
        return f"\\u{ord(character):04X}"
    if character > "\uffff":
        return json.dumps(character)[1:-1].upper().replace("U", "u")
    return compact(character)[1:-1]


def random_case(random: Random, depth: int = 3, plain_names: bool = False) -> EnvelopeCase:
    """A schema and a value of it that is not null."""
    schema = random_schema(random, depth, plain_names)
    payload, written = random_value(random, {**schema, "optional": False})
    return EnvelopeCase(schema, payload, written)


def random_schema(random: Random, depth: int, plain_names: bool = False) -> dict[str, Json]:
    kinds = [*_INTS, "boolean", "double", "float", "bytes", "string", "decimal", "date", "time", "timestamp"]
    kind = random.choice([*kinds, *(["struct", "struct", "array", "map", "pairs"] * 3 if depth else [])])
    schema: dict[str, Json] = {"type": kind}
    match kind:
        case "decimal":
            scale = random.choice([0, 2, 9])
            schema = {"type": "bytes", "name": f"{DATA}Decimal", "parameters": {"scale": str(scale)}}
        case "date" | "time":
            schema = {"type": "int32", "name": f"{DATA}{kind.title()}", "version": 1}
        case "timestamp":
            schema = {"type": "int64", "name": f"{DATA}Timestamp", "version": 1}
        case "array":
            schema["items"] = random_schema(random, depth - 1, plain_names)
        case "map" | "pairs":
            keys = {"type": "string"} if kind == "map" else {"type": random.choice(["int32", "int8", "boolean"])}
            schema = {"type": "map", "keys": keys, "values": random_schema(random, depth - 1, plain_names)}
        case "struct":
            names = random.sample(_NAMES[:5] if plain_names else _NAMES, random.randint(0, 5))
            schema["fields"] = [{**random_schema(random, depth - 1, plain_names), "field": name} for name in names]
            if random.random() < 0.5:
                schema["name"] = random.choice(["n.S", "T", "odd-name.x y", "n.m.S"])
    if random.random() < 0.4:
        schema["optional"] = True
    if random.random() < 0.2 and kind in (*_INTS, "boolean", "double", "string"):
        schema["default"] = json.loads(random_value(random, {**schema, "optional": False})[0])
    return schema


def random_value(random: Random, schema: dict[str, Json]) -> tuple[str, str]:
    """The text of a payload, and of what is written of it."""
    if random.random() < 0.3 and (schema.get("optional") or "default" in schema):
        default = schema.get("default")
        return "null", "null" if default is None else written_default(schema["type"], default)
    name = schema.get("name", "").removeprefix(DATA)
    match schema["type"]:
        case "boolean":
            return (random.choice(["true", "false"]),) * 2
        case "double" | "float":
            number = random.choice([0, 1, -1, 5, 1000, 123456]) + random.choice([0, 0.5, 0.25, -0.125])
            return repr(number), repr(float(number))
        case "bytes":
            number = random.choice([0, 1, -1, 127, 128, -128, -129, 12345, -(10**20), 10**25])
            size = (number if number >= 0 else ~number).bit_length() // 8 + 1
            data = number.to_bytes(size, signed=True) if name else random.randbytes(random.randint(0, 6))
            return (f'"{base64.b64encode(data).decode()}"',) * 2
        case "string":
            text = "".join(random.choices(_WORDS, k=random.randint(0, 3)))
            return random.choice([compact(text), json.dumps(text)]), jackson(text)
        case "array":
            items = [random_value(random, schema["items"]) for _ in range(random.randint(0, 3))]
            return _list([payload for payload, _ in items]), _list([written for _, written in items])
        case "map":
            return _map(random, schema)
        case "struct":
            return _struct(random, schema)
        case kind:
            return (str(_integer(random, kind, name)),) * 2


def written_default(kind: str, default: Json) -> str:
    return repr(float(default)) if kind == "double" else jackson(default) if kind == "string" else compact(default)


def _integer(random: Random, kind: str, name: str) -> int:
    if name == "Time":
        return random.randint(0, 86_400_000)
    limit = 2 ** _INTS[kind]
    return random.choice([0, 1, -1, limit - 1, -limit, random.randint(-limit, limit - 1)])


def _map(random: Random, schema: dict[str, Json]) -> tuple[str, str]:
    # At most one entry: the order of Java's HashMap is its own.
    if random.random() < 0.3:
        return ("{}",) * 2 if schema["keys"]["type"] == "string" else ("[]",) * 2
    payload, written = random_value(random, schema["values"])
    if schema["keys"]["type"] == "string":
        key = random.choice(_WORDS)
        return f"{{{compact(key)}:{payload}}}", f"{{{jackson(key)}:{written}}}"
    key = random_value(random, schema["keys"])[0]
    return f"[[{key},{payload}]]", f"[[{key},{written}]]"


def _struct(random: Random, schema: dict[str, Json]) -> tuple[str, str]:
    payload, written = [], []
    for field in schema["fields"]:
        given, made = random_value(random, field)
        if given != "null" or random.random() < 0.5:
            payload.append(f"{compact(field['field'])}:{given}")
        written.append(f"{jackson(field['field'])}:{made}")
    if random.random() < 0.3:
        random.shuffle(payload)
    if random.random() < 0.2:
        payload.append('"of no field":[1e999,{"a":null}]')
    return f"{{{','.join(payload)}}}", f"{{{','.join(written)}}}"


def _list(texts: list[str]) -> str:
    return f"[{','.join(texts)}]"
