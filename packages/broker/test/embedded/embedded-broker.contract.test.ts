import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import { brokerSuite } from '@tributary/testing/suites/broker-suite'

brokerSuite('the embedded log', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-log-'))
  return {
    open: () => openEmbeddedBroker({ dir, now: Date.now }),
    dispose: () => rm(dir, { recursive: true, force: true }),
  }
})
