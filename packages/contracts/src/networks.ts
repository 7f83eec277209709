import { isIP, isIPv4, SocketAddress } from 'node:net'

/** The canonical spelling of an address: IPv4-mapped IPv6 as IPv4, IPv6 in its shortest form; null for anything else. */
export function normalAddress(text: string): string | null {
  if (isIPv4(text)) return text
  const [unzoned = ''] = text.split('%', 1)
  if (isIP(unzoned) !== 6) return null
  const { address } = new SocketAddress({ address: unzoned, family: 'ipv6' })
  const mapped = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : ''
  return isIPv4(mapped) ? mapped : address
}

/**
 * The addresses that count as one client: an IPv4 address, or the /64 of an IPv6 address, since a client can use every
 * address of its /64 (docs/decisions/door.md#connections-are-shared-out-by-address). Takes addresses as `normalAddress` spells them.
 */
export function addressBlock(address: string): string {
  return address.includes(':') ? `${groupsOf(address).slice(0, 4).join(':')}::/64` : address
}

/** The network of an address: /24 of IPv4, /48 of IPv6 (docs/rules.md#tracking-links). Takes what `addressBlock` takes. */
export function addressNetwork(address: string): string {
  if (address.includes(':')) return `${groupsOf(address).slice(0, 3).join(':')}::/48`
  return `${address.split('.').slice(0, 3).join('.')}.0/24`
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): string[] {
  const [head = '', tail] = address.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const gap = tail === undefined ? 0 : 8 - left.length - right.length
  return [...left, ...Array<string>(Math.max(0, gap)).fill('0'), ...right]
}
