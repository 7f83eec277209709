import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'

/** Resolves a name to its addresses; rejects for one that has none. */
export type ResolveHost = (hostname: string) => Promise<string[]>

const resolve_ms_max = 3000

/**
 * Resolves names without the system's resolver, whose four threads disk and other work share: a partner whose name server is slow
 * delays nobody. An address is its own; IPv4 comes first.
 */
export function resolveHosts(): ResolveHost {
  const resolver = new Resolver({ timeout: resolve_ms_max, tries: 1 })
  return async (hostname) => {
    const bare = hostname.replace(/^\[(.*)\]$/, '$1')
    if (isIP(bare) !== 0) return [bare]
    if (/(^|\.)localhost\.?$/i.test(bare)) return ['127.0.0.1']
    const [of4, of6] = await Promise.allSettled([resolver.resolve4(bare), resolver.resolve6(bare)])
    const found = [of4, of6].flatMap((of) => (of.status === 'fulfilled' ? of.value : []))
    if (found.length === 0) throw of4.status === 'rejected' ? of4.reason : new Error(`${bare} has no address`)
    return found
  }
}
