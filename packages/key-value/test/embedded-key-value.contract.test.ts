import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedKeyValue } from '@tributary/key-value/embedded'
import { keyValueSuite } from '@tributary/testing/suites/key-value-suite'

keyValueSuite('the embedded key-value store', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-key-value-'))
  let moved_ms = 0
  return {
    open: () => openEmbeddedKeyValue({ dir, now: () => Date.now() + moved_ms }),
    moveClock: async (_key, ms) => {
      moved_ms += ms
    },
    dispose: () => rm(dir, { recursive: true, force: true }),
  }
})
