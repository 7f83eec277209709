import { noteErasedObjects } from '@tributary/erasure/audit/erased-objects'
import { openTombstones } from '@tributary/erasure/tombstones'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'

const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const request = { actor: 'test', request_id: 'r', now_ms: Date.UTC(2026, 0, 1) }

/** PostgreSQL with tombstones as consumers read them. */
export async function createTombstoneStage() {
  const { pool, close } = await openTestPostgres()
  const erased = {
    ...openTombstones({ pool, masterKeys }),
    noteObjects: (app_id: string, keys: Iterable<string>) => noteErasedObjects(pool, app_id, keys),
  }
  return {
    ...{ pool, masterKeys, erased, close },
    async makeApp(): Promise<string> {
      const { company_id } = await createCompany(pool, { name: 'Acme', plan: 'free' }, request)
      return (await createApp(pool, masterKeys, { company_id, name: 'Game', platform: 'ios' }, request)).app_id
    },
  }
}
