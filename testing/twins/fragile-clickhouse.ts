import type { Clickhouse } from '@tributary/clickhouse/clickhouse'

/** A ClickHouse whose caller may die before an insert and after it: `crash` throws when it does. */
export const fragileClickhouse = (clickhouse: Clickhouse, crash: () => void): Clickhouse => ({
  ...clickhouse,
  async insert(block) {
    crash()
    await clickhouse.insert(block)
    crash()
  },
})
