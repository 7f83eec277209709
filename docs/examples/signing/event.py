"""One signed batch, gzipped and tried again. Needs nothing but the standard library."""
import gzip
import hashlib
import hmac
import json
import os
import time
import urllib.error
import urllib.request
import uuid

now_ms = int(time.time() * 1000)
event = {
    "event_id": str(uuid.uuid4()),
    "event_name": "level_up",
    "event_ts_ms": now_ms,
    "install_uuid": "example-py",
    "props": {"level": 3},
}
body = gzip.compress(json.dumps({"events": [event], "sent_at_ms": now_ms}).encode())

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

# The same bytes may be sent again: with its event_id and event_ts_ms an event counts once.
for wait_s in (1, 2, 4, 8, None):
    try:
        print(urllib.request.urlopen(request, timeout=30).read().decode())
        break
    except urllib.error.HTTPError as refused:
        if wait_s is None or refused.code not in (408, 429, 500, 502, 503, 504):
            raise SystemExit(f"{refused.code} {refused.read().decode()}")
        wait_s = min(int(refused.headers.get("Retry-After") or wait_s), 60)
    except OSError as away:
        if wait_s is None:
            raise SystemExit(f"no answer: {away}")
    time.sleep(wait_s)
