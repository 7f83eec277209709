import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { clickhouseLookups } from '@tributary/deciding/lookups/clickhouse-lookups'
import { clickColumns, clickLine } from '@tributary/tables/attribution/clicks'
import { installColumns, installLine } from '@tributary/tables/attribution/install-rows'
import type { Mirror } from './world.ts'

/** Writes what the other consumers write. */
export function mirrorOf(clickhouse: Clickhouse): Mirror {
  let written = 0
  const insert = (table: string, columns: readonly string[], lines: string) =>
    clickhouse.insert({ table, columns, lines, token: randomUUID() })
  return {
    lookups: clickhouseLookups(clickhouse),
    insert: (block) => clickhouse.insert({ ...block, token: randomUUID() }),
    writeClick: (click) => insert('clicks_raw_v1', clickColumns, clickLine(click, click.place)),
    async writeDecision(decision, before) {
      written += 1
      const place = { topic: 'installs.attributed.v1@a', partition: 0, offset: written }
      const lines = [
        ...(before === undefined ? [] : [installLine({ decision: before, sign: -1, place })]),
        installLine({ decision, sign: 1, place }),
      ]
      await insert('installs_v1', installColumns, lines.join('\n'))
    },
  }
}
