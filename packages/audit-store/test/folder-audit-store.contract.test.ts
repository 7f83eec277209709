import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFolderAuditStore } from '@tributary/audit-store/folder'
import { auditStoreSuite } from '@tributary/testing/suites/audit-store-suite'

auditStoreSuite('the audit folder', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-audit-'))
  return {
    open: () => openFolderAuditStore({ dir }),
    dispose: () => rm(dir, { recursive: true, force: true }),
  }
})
