import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { requests, sendAll, start_ms } from '../replay/replay-requests.ts'
import { openDatabases, openRebuildStage } from './rebuild-stage.ts'

await describeWithEngine('clickhouse', (engine) => {
  it('random requests on all doors give the same tables from the audit store, beside the live ones and without them', async () => {
    const databases = await openDatabases(engine)
    const stage = await openRebuildStage(databases)
    try {
      const tenants = [await stage.world.newTenant(), await stage.world.newTenant()] as const
      const reports = () => Promise.all(tenants.map((tenant) => stage.reportsOf(tenant, start_ms)))
      stage.world.clock.now_ms = start_ms
      for (const some of fc.sample(requests, 2)) await sendAll(stage.world, tenants, some)
      const first = await stage.rebuild({ dry_run: true })
      expect(first.differing).toEqual([])
      expect(first.tables.find(({ name }) => name === 'events_raw_v1')?.rows).toBeGreaterThan(5)
      const rows = ({ tables }: typeof first) => tables.map(({ name, rows }) => [name, rows])
      const before = await reports()

      await stage.loseTables()
      const { swapped, ...again } = await stage.rebuild()
      expect(swapped).toBe(true)
      // Of several claims on a transaction fewer have money now: all are of one partition.
      const without = (of: ReturnType<typeof rows>) => of.filter(([name]) => !/revenue|transaction/.test(String(name)))
      expect(without(rows({ ...again, swapped }))).toEqual(without(rows(first)))
      expect(await reports()).toEqual(before)
    } finally {
      await stage.close()
      await databases.close()
    }
  })
})
