import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool } from 'pg'

interface Engines {
  clickhouse: Pick<Clickhouse, 'query'>
  pool: Pool
}

export interface CostNumbers {
  /** The next numbers of uploads as decimal text, ascending. They are above every number that was taken before this call. */
  take(count: number): Promise<string[]>
}

/** Any number does, as long as nobody else locks with it. */
const numbers_lock = 7_361_204_158_015

/**
 * Numbers of uploads, of one sequence in PostgreSQL. A PostgreSQL that was put back to an earlier state would give numbers that
 * stored costs have: an upload would lose to an older one. So a process looks at the table before its first number, and again
 * when a number is not above the one before.
 */
export function openCostNumbers({ clickhouse, pool }: Engines): CostNumbers {
  let last: bigint | null = null

  async function raise(): Promise<void> {
    const [row] = await clickhouse.query<{ last: string }>('SELECT toString(max(number)) AS last FROM costs_v1')
    await inTransaction(pool, async (client) => {
      // Of two processes the second one sees what the first has taken since.
      await client.query('SELECT pg_advisory_xact_lock($1)', [numbers_lock])
      await client.query(
        `SELECT setval('cost_numbers', $1::bigint) WHERE $1::bigint > (SELECT last_value FROM cost_numbers)`,
        [row?.last ?? '0'],
      )
    })
  }
  async function draw(count: number): Promise<string[]> {
    const { rows } = await pool.query<{ number: string }>(
      `SELECT nextval('cost_numbers')::text AS number FROM generate_series(1, $1)`,
      [count],
    )
    // A sequence ascends; the order of these rows is not promised.
    return rows.map(({ number }) => number).sort((a, b) => Number(BigInt(a) - BigInt(b)))
  }
  return {
    async take(count) {
      if (last === null) await raise()
      let taken = await draw(count)
      if (last !== null && BigInt(taken[0]!) <= last) {
        await raise()
        taken = await draw(count)
      }
      last = BigInt(taken.at(-1)!)
      return taken
    },
  }
}
