import type { PoolClient } from 'pg'

/** Receipts of one statement, which is part of a change of the app: the others come by their own pauses, of an hour at most. */
const woken_max = 10_000

/** Has receipts of an app that wait for its credentials or its bundle id judged at once, those that are in hand too. */
export async function judgeWaiting(client: Pick<PoolClient, 'query'>, app_id: string): Promise<void> {
  await client.query(
    `UPDATE due_receipts SET next_try_ms = 0 WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM due_receipts WHERE app_id = $1 ORDER BY next_try_ms DESC LIMIT ${woken_max}))`,
    [app_id],
  )
}
