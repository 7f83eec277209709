import type { KeptClick } from '@tributary/contracts/attribution/decision'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { namedClicks } from '@tributary/domain/attribute/match-click'

/** Finds the clicks among many that have something in common with an install. */
export function indexClicks(clicks: readonly KeptClick[]): (install: InstallFact) => KeptClick[] {
  const byId = Map.groupBy(clicks, ({ click_id }) => click_id)
  const byAddress = Map.groupBy(clicks, ({ ip }) => ip)
  const byDevice = new Map<string, KeptClick[]>()
  for (const click of clicks) {
    for (const device of click.device_hashes) {
      const known = byDevice.get(device)
      if (known === undefined) byDevice.set(device, [click])
      else known.push(click)
    }
  }
  return (install) => {
    const { ip, device_hashes } = install
    const named = namedClicks(install).flatMap((id) => byId.get(id) ?? [])
    const devices = device_hashes.flatMap((device) => byDevice.get(device) ?? [])
    return [...new Set([...named, ...devices, ...((ip !== null && byAddress.get(ip)) || [])])]
  }
}
