import { BlockList, isIP, isIPv4 } from 'node:net'
import { normalAddress } from '@tributary/contracts/networks'

/** Each of these headers shows that a proxy stands between the client and this process. */
export const proxyHeaders = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'] as const

/** True for an address or a CIDR range: `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`. */
export const isNetwork = (text: string): boolean => parseNetwork(text) !== null

/**
 * Makes the check whether an address is one of these, or lies in one of these ranges. Throws RangeError for a text that
 * is neither address nor range.
 */
export function networkList(networks: readonly string[]): (address: string | null) => boolean {
  const list = new BlockList()
  for (const text of networks) {
    const network = parseNetwork(text)
    if (network === null) throw new RangeError(`${JSON.stringify(text)} is no address or CIDR range`)
    list.addSubnet(network.address, network.prefix, network.family)
  }
  return (address) => address !== null && isIP(address) !== 0 && list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}

/**
 * Finds who sent a request. `X-Forwarded-For` is read from its right end, where the nearest proxy wrote, and only while
 * the sender of an entry is a trusted proxy: an entry that a client made up is never reached. The client is the proxy
 * itself where that names no address. IPv4-mapped IPv6 becomes IPv4, IPv6 gets its shortest form, ports are cut off.
 *
 * fastify's `trustProxy` is no replacement. It returns an entry as it was written: `unknown` or `<script>` would be stored
 * as an address, and one address in several spellings. It stops at a proxy that adds its port (`10.0.0.2:80`), and it
 * refuses `/0`.
 */
export function clientAddress(
  trusted_proxies: readonly string[],
): (remote: string | undefined, forwarded_for: string | string[] | undefined) => string {
  const isTrusted = networkList(trusted_proxies)

  return (remote, forwarded_for) => {
    let client = normalAddress(remote ?? '') ?? ''
    if (trusted_proxies.length === 0 || forwarded_for === undefined) return client
    const hops = [forwarded_for].flat().join().split(',')
    while (client !== '' && hops.length > 0 && isTrusted(client)) {
      const sender = normalAddress(withoutPort(hops.pop()?.trim() ?? ''))
      if (sender === null) return client
      client = sender
    }
    return client
  }
}

/** Some proxies add the port: `192.0.2.1:443`, `[2001:db8::1]:443`. */
const withoutPort = (text: string): string =>
  /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text

function parseNetwork(text: string): { address: string; prefix: number; family: 'ipv4' | 'ipv6' } | null {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return null
  const bits_max = version === 4 ? 32 : 128
  const prefix = bits === undefined ? bits_max : Number(bits)
  return prefix > bits_max ? null : { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' }
}
