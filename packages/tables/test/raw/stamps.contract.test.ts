import { sealRaw } from '@tributary/tables/raw/seal'
import { postgresStamps } from '@tributary/tables/raw/stamps'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { stampsSuite } from '@tributary/testing/suites/stamps-suite'
import { memoryStamps } from '@tributary/testing/twins/memory-stamps'

stampsSuite('PostgreSQL', async () => {
  const { pool, close } = await openTestPostgres()
  const seal = async () => (await sealRaw(pool, 'writer')).complete_until_ms
  return { stamps: postgresStamps(pool), seal, dispose: close }
})

stampsSuite('memory', async () => {
  let now_ms = 1_700_000_000_000
  const stamps = memoryStamps(() => now_ms++)
  return { stamps, seal: async () => stamps.seal(), dispose: async () => {} }
})
