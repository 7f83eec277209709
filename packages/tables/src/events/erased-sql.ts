/**
 * SQL of `datedAt` for a row of `events_raw_v1`. An event without a time has the time of its receipt in `ts_ms`, so one whose time
 * was given and is that very millisecond counts as without.
 */
const datedAtSql = 'if(t.ts_ms = t.received_at_ms AND t.sent_at_ms > 0, t.sent_at_ms, t.ts_ms)'

/** SQL of `erasedFrom` for a row of `events_raw_v1 AS t`: marks from this time on cover the event, Unix epoch ms. */
export const eventErasedFrom = `least(t.received_at_ms, ${datedAtSql})`
