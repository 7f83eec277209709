import type { Pool } from 'pg'
import { clock_ms } from '../partners/due-postbacks.ts'

type Client = Pick<Pool, 'query'>

/** The answer of a store to a question of an app, as JSON text; null without one that still holds. */
export async function findAnswer(pool: Client, app_id: string, question: string): Promise<string | null> {
  const { rows } = await pool.query<{ answer: string }>({
    ...{ name: 'find_store_answer', values: [app_id, question] },
    text: `SELECT answer FROM store_answers WHERE app_id = $1 AND question = $2 AND until_ms > ${clock_ms}`,
  })
  return rows[0]?.answer ?? null
}

/** Keeps an answer for `keep_ms`. */
export async function keepAnswer(
  pool: Client,
  { app_id, question, answer, keep_ms }: { app_id: string; question: string; answer: string; keep_ms: number },
): Promise<void> {
  await pool.query({
    ...{ name: 'keep_store_answer', values: [app_id, question, answer, keep_ms] },
    text: `INSERT INTO store_answers (app_id, question, answer, until_ms) VALUES ($1, $2, $3, ${clock_ms} + $4::bigint)
           ON CONFLICT (app_id, question) DO UPDATE SET answer = excluded.answer, until_ms = excluded.until_ms`,
  })
}

/** Deletes answers that hold no more. */
export async function removeOldAnswers(pool: Client): Promise<void> {
  await pool.query(`DELETE FROM store_answers WHERE until_ms <= ${clock_ms}`)
}
