"""One signed batch, gzipped. Needs nothing but the standard library."""
import gzip
import hashlib
import hmac
import json
import os
import time
import urllib.error
import urllib.request
import uuid

event = {
    "event_id": str(uuid.uuid4()),
    "event_name": "level_up",
    "install_uuid": "example-py",
    "props": {"level": 3},
}
batch = {"events": [event], "sent_at_ms": int(time.time() * 1000)}
body = gzip.compress(json.dumps(batch).encode())

# Over the bytes that are sent: with gzip, the compressed ones.
signature = hmac.new(os.environ["SIGNING_SECRET"].encode(), body, hashlib.sha256).hexdigest()

request = urllib.request.Request(
    os.environ["TRIBUTARY_URL"] + "/event",
    data=body,
    headers={
        "Content-Type": "application/json",
        "Content-Encoding": "gzip",
        "X-Service-Sdk": "example-py-1.0.0",
        "X-Service-Company-Key": os.environ["COMPANY_KEY"],
        "X-Service-App-Key": os.environ["APP_KEY"],
        "X-Service-Signature": signature,
    },
)
try:
    print(urllib.request.urlopen(request, timeout=30).read().decode())
except urllib.error.HTTPError as refused:
    raise SystemExit(f"{refused.code} {refused.read().decode()}")
