import { postgresRedecisions } from '@tributary/tables/attribution/postgres-redecisions'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { list_partitions, redecisionsSuite } from '@tributary/testing/suites/redecisions-suite'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'

redecisionsSuite('PostgreSQL', async () => {
  const { pool, close } = await openTestPostgres()
  return {
    open: () => postgresRedecisions({ postgres: pool, broker: { partitionCount: async () => list_partitions } }),
    dispose: close,
  }
})

redecisionsSuite('memory', async () => {
  const list = memoryRedecisions({ partitions: list_partitions })
  return { open: () => list, dispose: async () => {} }
})
