import type { PartnerOfApp } from '@tributary/contracts/admin/partners'
import { limits } from '@tributary/contracts/limits'
import type { DeliveryReason, PostbackContent, PostbackSettings } from '@tributary/contracts/partner-postback'
import type { OwedPostback } from '@tributary/domain/partner/owed'
import type { Pool, PoolClient } from 'pg'

type Client = Pick<Pool | PoolClient, 'query'>

/** The clock by which something is due, is given up, or is tried by a process: no process compares its own. Unix epoch ms. */
export const clock_ms = 'floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint'

/** A postback to add, with its install. */
export type AddedPostback = OwedPostback & { app_id: string; install_uuid: string }

/** The key of a row of `due_postbacks`. */
export interface DueKey {
  app_id: string
  install_uuid: string
  event_key: string
  partner: string
}

/** A row that this process tries now. */
export interface TakenPostback extends DueKey {
  company_id: string
  idempotency_key: string
  event_name: string
  content: PostbackContent
  dated_at_ms: number
  owed_at_ms: number
  /** How long it may still be tried; 0 or less: not any more. */
  left_ms: number
  /** Number of this try, from 1; it names the try. */
  tries: number
  settings_id: string
  /** Null: the partner was removed. */
  settings: PostbackSettings | null
}

/** Names a try of a row. */
export type TryKey = DueKey & Pick<TakenPostback, 'idempotency_key' | 'tries'>

/** A try that ended. */
export interface EndedTry extends TryKey {
  state: 'due' | 'delivered' | 'dead'
  /** Until the next try of what is due. */
  pause_ms: number
  reason: DeliveryReason | null
}

/** Rows of one statement. */
const added_max = 2000

/** Adds what is owed. A key that is there stays as it is. Durable when it resolves; gives back how many are new. */
export async function addOwed(pool: Client, owed: readonly AddedPostback[], now_ms: number): Promise<number> {
  let added = 0
  // Rows have one order everywhere: two processes that add the same ones would wait for each other in a circle.
  const ordered = inOrder(owed)
  for (let at = 0; at < ordered.length; at += added_max) {
    const some = ordered.slice(at, at + added_max)
    const of = <T>(value: (one: AddedPostback) => T) => some.map(value)
    const { rowCount } = await pool.query(addSql, [
      ...[of((one) => one.app_id), of((one) => one.install_uuid), of((one) => one.event_key), of((one) => one.partner)],
      ...[
        of((one) => one.settings_id),
        of((one) => `${one.content.event_name}`),
        of((one) => JSON.stringify(one.content)),
      ],
      ...[of((one) => one.dated_at_ms), now_ms, limits.partner_tries_ms_max],
    ])
    added += rowCount ?? 0
  }
  return added
}

const nameOf = ({ app_id, install_uuid, event_key, partner }: DueKey) =>
  `${app_id}/${install_uuid}/${event_key}/${partner}`

/** In the order of their names, each of which is made once. */
const inOrder = <T extends DueKey>(all: readonly T[]): T[] =>
  all
    .map((one) => ({ one, name: nameOf(one) }))
    .sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)))
    .map(({ one }) => one)

const addSql = `
  INSERT INTO due_postbacks (app_id, install_uuid, event_key, partner, settings_id, event_name, content, dated_at_ms,
    owed_at_ms, give_up_ms, next_try_ms)
  SELECT *, $9::bigint, ${clock_ms} + $10::bigint, ${clock_ms}
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::bigint[])
  ON CONFLICT DO NOTHING`

/** A partner of an app that has something to send now. */
export interface DueTarget extends PartnerOfApp {
  company_id: string
}

/** The partners of apps that have something due. It looks into the index once for each that has anything waiting. */
export async function findDueTargets(pool: Client): Promise<DueTarget[]> {
  const { rows } = await pool.query<DueTarget>({ name: 'due_targets', text: targetsSql })
  return rows
}

const targetsSql = `
  WITH RECURSIVE waiting AS (
    (SELECT app_id, partner FROM due_postbacks WHERE state = 'due' ORDER BY app_id, partner LIMIT 1)
    UNION ALL
    SELECT next.app_id, next.partner FROM waiting CROSS JOIN LATERAL (
      SELECT d.app_id, d.partner FROM due_postbacks d
      WHERE d.state = 'due' AND (d.app_id, d.partner) > (waiting.app_id, waiting.partner)
      ORDER BY d.app_id, d.partner LIMIT 1) AS next)
  SELECT w.app_id, w.partner, a.company_id FROM waiting w JOIN apps a USING (app_id)
  CROSS JOIN LATERAL (SELECT 1 FROM due_postbacks d
    WHERE d.state = 'due' AND d.app_id = w.app_id AND d.partner = w.partner AND d.next_try_ms <= ${clock_ms} LIMIT 1) AS now`

/** The most that a process takes of a partner. */
export type Wanted = PartnerOfApp & { max: number }

/**
 * Takes due postbacks for one try each. Nobody else tries them until the lease ends: a process that was killed in a try delays them
 * for that long.
 */
export async function takeDue(pool: Client, wanted: readonly Wanted[]): Promise<TakenPostback[]> {
  if (wanted.length === 0) return []
  const { rows } = await pool.query<TakenRow>({
    ...{ name: 'take_due', text: takeSql },
    values: [
      ...[wanted.map((one) => one.app_id), wanted.map((one) => one.partner), wanted.map((one) => one.max)],
      limits.partner_lease_ms,
    ],
  })
  return rows.map(({ content, postback_url, method, events, flagged, ...row }) => ({
    ...row,
    content: JSON.parse(content) as PostbackContent,
    settings: postback_url === null ? null : { postback_url, method, events, flagged },
  }))
}

type TakenRow = Omit<TakenPostback, 'content' | 'settings'> &
  Omit<PostbackSettings, 'postback_url'> & { content: string; postback_url: string | null }

/**
 * A row of a version from before the partner was removed has no URL: nothing sends it, also when the partner was set again. Rows are updated
 * by their place, and targets are found by a `LIMIT`: joined by key, old statistics make PostgreSQL read all that is due, each time.
 */
const takeSql = `
  WITH chosen AS (
    SELECT d.place FROM unnest($1::text[], $2::text[], $3::int[]) AS wanted (app_id, partner, max)
    CROSS JOIN LATERAL (
      SELECT ctid AS place FROM due_postbacks
      WHERE state = 'due' AND app_id = wanted.app_id AND partner = wanted.partner AND next_try_ms <= ${clock_ms}
      ORDER BY next_try_ms LIMIT wanted.max FOR UPDATE SKIP LOCKED) AS d),
  taken AS (
    UPDATE due_postbacks d SET leased = true, next_try_ms = ${clock_ms} + $4::bigint, tries = tries + 1 FROM chosen c
    WHERE d.ctid = c.place RETURNING d.*)
  SELECT t.app_id, t.install_uuid, t.event_key, t.partner, a.company_id, t.idempotency_key, t.event_name, t.content,
    t.dated_at_ms::float8, t.owed_at_ms::float8, (t.give_up_ms - ${clock_ms})::float8 AS left_ms, t.tries, t.settings_id::text, p.method, p.events, p.flagged,
    CASE WHEN EXISTS (SELECT 1 FROM partner_postbacks n WHERE n.app_id = t.app_id AND n.partner = t.partner
      AND n.postback_url IS NULL AND n.settings_id > t.settings_id) THEN NULL ELSE p.postback_url END AS postback_url
  FROM taken t JOIN apps a USING (app_id) JOIN partner_postbacks p USING (settings_id)`

const triesOf = (tries: readonly TryKey[]) => {
  const of = <T>(value: (one: TryKey) => T) => tries.map(value)
  return [
    ...[of((one) => one.app_id), of((one) => one.install_uuid), of((one) => one.event_key), of((one) => one.partner)],
    ...[of((one) => one.idempotency_key), of((one) => one.tries)],
  ]
}
const tryTypes = '$1::text[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::int[]'
const tryColumns = 'app_id, install_uuid, event_key, partner, idempotency_key, tries'
/** `freeErased` may have given the row another key since. */
const isTry = `d.app_id = e.app_id AND d.install_uuid = e.install_uuid AND d.partner = e.partner AND d.tries = e.tries
    AND d.event_key IN (e.event_key, e.idempotency_key::text) AND d.idempotency_key = e.idempotency_key`

/** Ends tries. One that another process has repeated, because its lease ended, changes nothing any more. */
export async function endTries(pool: Client, ended: readonly EndedTry[], now_ms: number): Promise<void> {
  if (ended.length === 0) return
  const ordered = inOrder(ended)
  const of = <T>(value: (one: EndedTry) => T) => ordered.map(value)
  await pool.query({
    ...{ name: 'end_tries', text: endSql },
    values: [
      ...triesOf(ordered),
      ...[of((one) => one.state), of((one) => one.pause_ms), of((one) => one.reason), now_ms],
    ],
  })
}

const endSql = `
  UPDATE due_postbacks d SET leased = false, reason = e.reason, next_try_ms = ${clock_ms} + e.pause_ms,
    state = CASE WHEN d.state = 'erased' THEN d.state ELSE e.state END,
    content = CASE WHEN e.state = 'delivered' THEN '' ELSE d.content END,
    ended_at_ms = CASE WHEN e.state = 'due' THEN NULL ELSE $10::bigint END
  FROM unnest(${tryTypes}, $7::text[], $8::bigint[], $9::text[]) AS e (${tryColumns}, state, pause_ms, reason)
  WHERE ${isTry} AND d.leased`

/** Removes what was taken and is of an erased life: it is not sent, and no log has it. */
export async function removeTaken(pool: Client, taken: readonly TryKey[]): Promise<void> {
  const sql = `DELETE FROM due_postbacks d USING unnest(${tryTypes}) AS e (${tryColumns}) WHERE ${isTry}`
  await pool.query(sql, triesOf(taken))
}

/** Makes the dead postbacks of a partner due again, with its settings of now. Gives back how many. */
export async function retryDead(
  client: Client,
  { app_id, partner }: PartnerOfApp,
  settings_id: string,
): Promise<number> {
  const { rowCount } = await client.query(
    `UPDATE due_postbacks SET state = 'due', settings_id = $3, next_try_ms = ${clock_ms}, give_up_ms = ${clock_ms} + $4::bigint,
       reason = NULL, ended_at_ms = NULL
     WHERE app_id = $1 AND partner = $2 AND state = 'dead' AND event_key NOT LIKE 'test/%'`,
    [app_id, partner, settings_id, limits.partner_tries_ms_max],
  )
  return rowCount ?? 0
}

/** Deletes keys that are so old that nothing can be owed under them any more. */
export async function removeOldKeys(pool: Client, now_ms: number): Promise<void> {
  const sql = 'DELETE FROM due_postbacks WHERE owed_at_ms < $1 AND NOT leased AND state <> $2'
  await pool.query(sql, [now_ms - limits.partner_keys_kept_ms, 'due'])
}

/** Postbacks of a partner that wait or are dead. */
export interface PartnerBacklog extends PartnerOfApp {
  due: number
  oldest_due_ms: number | null
  dead: number
  /** Since when the newest dead one is dead, Unix epoch ms. */
  last_dead_ms: number | null
}

/** Counts what waits and what is dead, by app and partner; partners without either are left out. */
export async function readBacklogs(pool: Client, app_ids: readonly string[]): Promise<PartnerBacklog[]> {
  const { rows } = await pool.query<PartnerBacklog>(
    `SELECT app_id, partner, count(*) FILTER (WHERE state = 'due')::int AS due, count(*) FILTER (WHERE state = 'dead')::int AS dead,
       (min(owed_at_ms) FILTER (WHERE state = 'due'))::float8 AS oldest_due_ms,
       (max(ended_at_ms) FILTER (WHERE state = 'dead'))::float8 AS last_dead_ms
     FROM due_postbacks WHERE app_id = ANY($1::text[]) AND state IN ('due', 'dead') AND event_key NOT LIKE 'test/%'
     GROUP BY app_id, partner ORDER BY app_id, partner`,
    [app_ids],
  )
  return rows
}

/** Counts all that waits. */
export async function readBacklog(pool: Client): Promise<{ due: number; oldest_ms: number | null }> {
  const { rows } = await pool.query<{ due: number; oldest_ms: number | null }>(
    `SELECT count(*)::int AS due, min(owed_at_ms)::float8 AS oldest_ms FROM due_postbacks WHERE state = 'due'`,
  )
  return rows[0]!
}

/** The `Idempotency-Key` of a postback that was delivered or given up; null until then. */
export async function findEndedKey(
  pool: Client,
  { app_id, install_uuid, event_key, partner }: DueKey,
): Promise<string | null> {
  const { rows } = await pool.query<{ idempotency_key: string }>(
    `SELECT idempotency_key FROM due_postbacks
     WHERE app_id = $1 AND install_uuid = $2 AND event_key = $3 AND partner = $4 AND state IN ('delivered', 'dead')`,
    [app_id, install_uuid, event_key, partner],
  )
  return rows[0]?.idempotency_key ?? null
}

/** `Idempotency-Key` of the postbacks of an app that died last. */
export async function findDeadKeys(
  pool: Client,
  { app_id, partner, limit }: { app_id: string; partner?: string | undefined; limit: number },
): Promise<string[]> {
  const { rows } = await pool.query<{ idempotency_key: string }>(
    `SELECT idempotency_key FROM due_postbacks
     WHERE app_id = $1 AND ($2::text IS NULL OR partner = $2) AND state = 'dead' AND event_key NOT LIKE 'test/%'
     ORDER BY ended_at_ms DESC LIMIT $3`,
    [app_id, partner ?? null, limit],
  )
  return rows.map(({ idempotency_key }) => idempotency_key)
}
