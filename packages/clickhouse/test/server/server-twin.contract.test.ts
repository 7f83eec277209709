import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import { clickhouseSuite } from '@tributary/testing/suites/clickhouse-suite'

clickhouseSuite('the embedded engine', async () => {
  const data_dir = await mkdtemp(join(tmpdir(), 'tributary-clickhouse-'))
  return {
    open: () => openEmbeddedClickhouse({ data_dir }),
    dispose: () => rm(data_dir, { recursive: true, force: true }),
  }
})
