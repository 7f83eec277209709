#!/bin/sh
# Makes one RustFS user for each policy in this folder. The user has the name of the file and only its rights.
# May run again: a changed policy or secret replaces the old one.
# Needs S3_URL, KEY_ID and SECRET of the root user, and a secret for each user: SECRET_OF_ADMIN_API for admin-api.json.
set -eu
umask 077
body=$(mktemp)
trap 'rm -f "$body"' EXIT

# put PATH: sends the file "$body". Keeps secrets out of the list of processes.
put() {
  status=$(printf 'user = "%s:%s"\n' "$KEY_ID" "$SECRET" | curl -sS -K - -o /dev/null -w '%{http_code}' -X PUT \
    --aws-sigv4 aws:amz:us-east-1:s3 -H 'Content-Type: application/json' --data-binary "@$body" "$S3_URL$1")
  [ "$status" = 200 ] || { echo "$1: status $status" >&2; exit 1; }
}

for policy in "$(dirname "$0")"/*.json; do
  user=$(basename "$policy" .json)
  secret=$(printenv "SECRET_OF_$(echo "$user" | tr 'a-z-' 'A-Z_')")
  cat "$policy" >"$body"
  put "/rustfs/admin/v3/add-canned-policy?name=$user"
  printf '{"secretKey":"%s","status":"enabled"}' "$secret" >"$body"
  put "/rustfs/admin/v3/add-user?accessKey=$user"
  : >"$body"
  put "/rustfs/admin/v3/set-user-or-group-policy?policyName=$user&userOrGroup=$user&isGroup=false"
done
