import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runKills } from '@tributary/testing/standalone/kill-run'
import { isExact } from '@tributary/testing/verify-events'
import { expect, it } from 'vitest'

it('holds every acknowledged event exactly once, and no half batch, after kill -9 at random moments', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-kill-'))
  try {
    const result = await runKills({
      data_dir,
      kills: 3,
      clients: 6,
      alive_ms_max: 2500,
      random: Math.random,
    })
    expect(result, JSON.stringify(result)).toSatisfy(isExact)
    expect(result.acknowledged).toBeGreaterThan(100)
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
})
