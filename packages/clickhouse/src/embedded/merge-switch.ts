import type { Clickhouse } from '../clickhouse.ts'

/**
 * Stops and starts the background merges of an engine. Merges that run are broken off and their files deleted: a merge
 * needs as much free space again as its parts have, and gives none back before it is over.
 */
export function createMergeSwitch(clickhouse: Pick<Clickhouse, 'command'>) {
  let running = true
  return {
    async set(wanted: boolean): Promise<void> {
      if (wanted === running) return
      await clickhouse.command(wanted ? 'SYSTEM START MERGES' : 'SYSTEM STOP MERGES')
      running = wanted
    },
  }
}
