import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listApps } from '@tributary/tenancy/companies/apps'
import { listCompanies } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { expect, it, onTestFinished } from 'vitest'
import { makeDemoCompany } from '../src/demo.ts'

it('lists the app first whose keys have the plain names of demo.env, so that what the panel shows first works with them', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-demo-'))
  onTestFinished(() => rmSync(data_dir, { recursive: true }))
  const db = await openTestPostgres()
  onTestFinished(() => db.close())
  const now_ms = Date.now()
  const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 7) }])
  await makeDemoCompany({ pool: db.pool, masterKeys, data_dir, base_url: 'http://127.0.0.1:8080', now: () => now_ms })
  const [company] = await listCompanies(db.pool)
  const [first, second] = await listApps(db.pool, company!.company_id, now_ms)
  expect([first!.platform, second!.platform]).toEqual(['android', 'ios'])
  expect(first!.created_at_ms).toBeLessThan(second!.created_at_ms)
})
