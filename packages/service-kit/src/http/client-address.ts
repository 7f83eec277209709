import { BlockList, isIP, isIPv4, SocketAddress } from 'node:net'

/** True for an address or a CIDR range: `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`. */
export const isNetwork = (text: string): boolean => parseNetwork(text) !== null

/** Whether an address is one of these, or in one of these ranges. Throws RangeError for what is neither. */
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
 * Who sent a request. `X-Forwarded-For` is read from its right end, where the nearest proxy wrote, and only as long as
 * the one who says so is a trusted proxy: what a client put in front is never reached. Where a trusted proxy names no
 * address, the proxy itself is the client. IPv4-mapped IPv6 is given as IPv4, IPv6 in its shortest form, ports are cut.
 *
 * Not fastify's `trustProxy`: it gives an entry as it was written, so that `unknown` or `<script>` would be stored as an
 * address and one address in several spellings; it stops at a proxy that adds its port (`10.0.0.2:80`), and refuses `/0`.
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
      const said = normalAddress(withoutPort(hops.pop()?.trim() ?? ''))
      if (said === null) return client
      client = said
    }
    return client
  }
}

/** An address in its one spelling: IPv4-mapped IPv6 as IPv4, IPv6 in its shortest form; null for anything else. */
export function normalAddress(text: string): string | null {
  if (isIPv4(text)) return text
  const [unzoned = ''] = text.split('%', 1)
  if (isIP(unzoned) !== 6) return null
  const { address } = new SocketAddress({ address: unzoned, family: 'ipv6' })
  const mapped = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : ''
  return isIPv4(mapped) ? mapped : address
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
