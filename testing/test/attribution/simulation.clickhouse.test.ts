import type { FraudFlag } from '@tributary/contracts/attribution/verdict'
import { beforeAll, expect, it } from 'vitest'
import { clone_installs, clones_unflagged, farm_installs } from '../../attribution/fraud-partners.ts'
import { runSimulation, type SimulationResult } from '../../attribution/run-simulation.ts'

let result: SimulationResult
beforeAll(async () => {
  result = await runSimulation({ seed: 1, days: 2, acts: 60, flood_clicks: 1000, log: () => {} })
})

it('reports what ten partners did, and neither more nor less', () => {
  expect(result.installs).toBeGreaterThan(900)
  for (const { app, found, expected } of result.reports) expect(found, app).toEqual(expected)
})

it('flags fraudsters and nobody else', () => {
  console.table(result.flags)
  for (const { flag, guilty, precision } of result.flags) {
    expect(guilty, flag).toBeGreaterThan(0)
    expect(precision, flag).toBe(1)
  }
  // The first twenty of a room of phones may be a school, and the first fifty copies of a phone are no crowd.
  const recalls: Partial<Record<FraudFlag, number>> = {
    install_burst: 1 - 20 / farm_installs,
    crowded_device: 1 - clones_unflagged / clone_installs,
  }
  for (const { flag, recall } of result.flags) expect(recall, flag).toBeCloseTo(recalls[flag] ?? 1)
})
