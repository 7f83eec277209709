import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runKills } from '@tributary/testkit/kill-run'
import { expect, it } from 'vitest'

it('holds every acknowledged event exactly once, and no half batch, after kill -9 at random moments', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-kill-'))
  try {
    const { rollups, differing, ...result } = await runKills({
      data_dir,
      kills: 3,
      clients: 6,
      alive_ms_max: 2500,
      random: Math.random,
    })
    expect(result).toMatchObject({ kills: 3, lost: 0, doubled: 0, half: 0 })
    expect(result.acknowledged).toBeGreaterThan(100)
    expect(rollups).toEqual({ event_keys_v1: result.in_events_raw, events_per_day_v1: result.in_events_raw })
    expect(differing).toEqual({ activity_per_day_v1: 0, event_installs_per_day_v1: 0 })
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
})
