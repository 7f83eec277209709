/**
 * A counter is the text `<total>` or, with a mark, `<total> <marked> <mark_id>`. Numbers are written with all their digits,
 * since Lua would write a large one as 5e+12. A counter keeps the expiry of its first add, unless a clock that was ahead set it.
 */
const counter = `
local known = redis.call('GET', KEYS[1])
local total, marked, mark_id = string.match(known or '0', '^(%d+) ?(%d*) ?(.*)$')
total = tonumber(total)
marked = tonumber(marked)
local function put(ttl_ms)
  local text = string.format('%.0f', total)
  if marked then text = text .. string.format(' %.0f ', marked) .. mark_id end
  local keeps = known and not (ttl_ms and redis.call('PTTL', KEYS[1]) > tonumber(ttl_ms))
  if keeps then redis.call('SET', KEYS[1], text, 'KEEPTTL') else redis.call('SET', KEYS[1], text, 'PX', ttl_ms) end
end`

/** `addCapped`: KEYS counter; ARGV n, cap or '', ttl_ms, mark_id of what is given back or ''; answers {added, total, mark_id or ''}. */
export const addCappedScript = `${counter}
local n = tonumber(ARGV[1])
local sum = math.max(0, total + n)
local id = marked and mark_id or ''
if n > 0 and ARGV[2] ~= '' and sum > tonumber(ARGV[2]) then
  if redis.call('PTTL', KEYS[1]) > tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  return {0, total, id}
end
total = sum
if marked and mark_id ~= ARGV[4] then marked = math.max(0, marked + math.min(0, n)) end
put(ARGV[3])
return {1, total, id}`

/** `mark`: KEYS counter; ARGV mark_id; answers {total}, or {} without a counter. */
export const markScript = `${counter}
if not known then return {} end
marked = total
mark_id = ARGV[1]
put()
return {total}`

/** `reconcile`: KEYS counter; ARGV counted, mark_id or '', ttl_ms; answers {total}. */
export const reconcileScript = `${counter}
local counted = tonumber(ARGV[1])
if marked and mark_id == ARGV[2] then
  total = total - math.max(0, marked - counted)
  marked = nil
end
total = math.max(total, counted)
if known or total > 0 then put(ARGV[3]) end
return {total}`

/** `get` with the lifetime of the counter: KEYS counter; ARGV ttl_ms; answers the text of the counter, or null. */
export const getScript = `
if redis.call('PTTL', KEYS[1]) > tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return redis.call('GET', KEYS[1])`

/**
 * `hitWindow`: KEYS list of the allowed hits, oldest first; ARGV limit, window_ms; answers {allowed, remaining,
 * retry_after_ms}. The same steps as sliding-window.ts.
 */
export const hitWindowScript = `
local limit = tonumber(ARGV[1])
local window = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local last = redis.call('LINDEX', KEYS[1], -1)
while last and tonumber(last) > now do
  redis.call('RPOP', KEYS[1])
  last = redis.call('LINDEX', KEYS[1], -1)
end
local first = redis.call('LINDEX', KEYS[1], 0)
while first and tonumber(first) <= now - window do
  redis.call('LPOP', KEYS[1])
  first = redis.call('LINDEX', KEYS[1], 0)
end
local hits = redis.call('LLEN', KEYS[1])
local allowed = 0
if hits < limit then
  allowed = 1
  hits = redis.call('RPUSH', KEYS[1], string.format('%.0f', now))
  redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', now + window))
end
local wait = 0
if hits >= limit then
  local blocking = limit > 0 and redis.call('LINDEX', KEYS[1], -limit)
  wait = blocking and tonumber(blocking) + window - now or window
end
return {allowed, math.max(0, limit - hits), wait}`

/**
 * `append`: KEYS ring, which counts its texts; ARGV text, max, ttl_ms; answers {}. Each text has a key of its own: entries of a
 * stream of Redis have no expiry.
 */
export const appendScript = `
local last = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('SET', string.format('%s:%.0f', KEYS[1], last), ARGV[1], 'PX', ARGV[3])
redis.call('DEL', string.format('%s:%.0f', KEYS[1], last - tonumber(ARGV[2])))
return {}`

/** `read`: KEYS ring; ARGV after, limit; answers {position, text...}. */
export const readScript = `
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
local after = tonumber(ARGV[1])
if after > last then after = 0 end
local answer = {last}
for at = math.max(after, last - tonumber(ARGV[2])) + 1, last do
  local text = redis.call('GET', string.format('%s:%.0f', KEYS[1], at))
  if text then table.insert(answer, text) end
end
return answer`
