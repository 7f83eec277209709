import { once } from 'node:events'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { testServer } from './server-under-test.ts'

/** Migrates the database given when the parent says so; ends with 1 when that fails. */
const [url = '', database = ''] = process.argv.slice(2)
const clickhouse = await openClickhouseServer(testServer(url, { database }))
process.send?.('ready')
await once(process, 'message')
await migrateClickhouse({ clickhouse })
await clickhouse.close()
process.disconnect()
