#!/bin/sh
# One signed batch, gzipped. Needs curl, openssl and gzip.
# TRIBUTARY_URL, COMPANY_KEY, APP_KEY and SIGNING_SECRET come from the environment.
set -eu

event_id=$(openssl rand -hex 16)
body=$(mktemp)
trap 'rm -f "$body"' EXIT
printf '{"events":[{"event_id":"%s","event_name":"level_up","install_uuid":"example-sh","props":{"level":3}}],"sent_at_ms":%s000}' \
  "$event_id" "$(date +%s)" | gzip -c > "$body"

# Over the bytes that are sent: with gzip, the compressed ones.
signature=$(openssl dgst -sha256 -hmac "$SIGNING_SECRET" < "$body" | sed 's/^.* //')

curl -sS --fail-with-body "$TRIBUTARY_URL/event" \
  -H 'Content-Type: application/json' \
  -H 'Content-Encoding: gzip' \
  -H 'X-Service-Sdk: example-sh-1.0.0' \
  -H "X-Service-Company-Key: $COMPANY_KEY" \
  -H "X-Service-App-Key: $APP_KEY" \
  -H "X-Service-Signature: $signature" \
  --data-binary "@$body"
echo
