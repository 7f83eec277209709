"""Reads records of events.accepted.v1: one JSON line {"headers": {...}, "value": "<base64>"} each, as a Kafka client has them."""

import base64
import json
import sys
import zlib

RECORD_BYTES_MAX = 1_000_000


def inflate(value: bytes) -> bytes:
    """The contents of all members of a gzip file; ValueError above RECORD_BYTES_MAX, before more is in memory."""
    text = b""
    while value:
        member = zlib.decompressobj(wbits=31)
        text += member.decompress(value, RECORD_BYTES_MAX + 1 - len(text))
        if len(text) > RECORD_BYTES_MAX:
            raise ValueError("record too large")
        if not member.eof:
            raise ValueError("gzip ends early")
        value = member.unused_data
    return text


def read_envelope(headers: dict[str, str], value: bytes) -> dict:
    text = inflate(value) if headers.get("content-encoding") == "gzip" else value
    envelope = json.loads(text)
    if envelope["v"] == 2:
        envelope["events"] = envelope.pop("body")["events"]
    elif envelope["v"] != 1:
        raise ValueError("envelope of an unknown version")
    return envelope


def print_events(line: str) -> None:
    record = json.loads(line)
    envelope = read_envelope(record["headers"], base64.b64decode(record["value"]))
    for event in envelope["events"]:
        print(envelope["app_id"], envelope["install_uuid"], event["event_id"], event["event_name"])


if __name__ == "__main__":
    for line in sys.stdin:
        try:
            print_events(line)
        except (ValueError, KeyError, TypeError, zlib.error) as error:
            print("record left out:", repr(error), file=sys.stderr)
