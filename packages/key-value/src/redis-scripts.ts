/**
 * `addCapped`: KEYS counter; ARGV n, cap or '', ttl_ms; answers {added, total}. A sum is written with all its digits,
 * since Lua would write a large one as 5e+12, and keeps the expiry of the first add.
 */
export const addCappedScript = `
local known = redis.call('GET', KEYS[1])
local before = tonumber(known or '0')
local n = tonumber(ARGV[1])
local total = math.max(0, before + n)
if n > 0 and ARGV[2] ~= '' and total > tonumber(ARGV[2]) then return {0, before} end
local text = string.format('%.0f', total)
if known then redis.call('SET', KEYS[1], text, 'KEEPTTL') else redis.call('SET', KEYS[1], text, 'PX', ARGV[3]) end
return {1, total}`

/** `raiseTo`: KEYS counter; ARGV total, ttl_ms; answers {total}. */
export const raiseToScript = `
local known = redis.call('GET', KEYS[1])
if known and tonumber(known) >= tonumber(ARGV[1]) then return {tonumber(known)} end
local text = string.format('%.0f', tonumber(ARGV[1]))
if known then redis.call('SET', KEYS[1], text, 'KEEPTTL') else redis.call('SET', KEYS[1], text, 'PX', ARGV[2]) end
return {tonumber(text)}`

/**
 * `hitWindow`: KEYS list of the allowed hits, oldest first; ARGV limit, window_ms; answers {allowed, remaining,
 * retry_after_ms}. The same steps as sliding-window.ts; a clock that was set back stands still until it has caught up.
 */
export const hitWindowScript = `
local limit = tonumber(ARGV[1])
local window = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local at = math.max(now, tonumber(redis.call('LINDEX', KEYS[1], -1) or now))
local first = redis.call('LINDEX', KEYS[1], 0)
while first and tonumber(first) <= at - window do
  redis.call('LPOP', KEYS[1])
  first = redis.call('LINDEX', KEYS[1], 0)
end
local hits = redis.call('LLEN', KEYS[1])
local allowed = 0
if hits < limit then
  allowed = 1
  hits = redis.call('RPUSH', KEYS[1], string.format('%.0f', at))
  redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', at + window))
end
local wait = 0
if hits >= limit then
  local blocking = limit > 0 and redis.call('LINDEX', KEYS[1], -limit)
  wait = blocking and tonumber(blocking) + window - now or window
end
return {allowed, math.max(0, limit - hits), wait}`
