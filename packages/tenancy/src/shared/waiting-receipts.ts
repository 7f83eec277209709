import type { PoolClient } from 'pg'

/** Has the receipts of an app that wait for its credentials or its bundle id judged at once, those that are in hand too. */
export async function judgeWaiting(client: Pick<PoolClient, 'query'>, app_id: string): Promise<void> {
  await client.query('UPDATE due_receipts SET next_try_ms = 0 WHERE app_id = $1', [app_id])
}
