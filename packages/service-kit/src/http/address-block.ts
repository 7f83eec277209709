/**
 * Names the addresses that belong to one client: an IPv4 address, or the /64 of an IPv6 address, since a client can use
 * every address of its /64 (docs/adr/0191). Takes addresses in the form that `clientAddress` returns.
 */
export function addressBlock(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const gap = tail === undefined ? 0 : 8 - left.length - right.length
  const groups = [...left, ...Array<string>(Math.max(0, gap)).fill('0'), ...right]
  return `${groups.slice(0, 4).join(':')}::/64`
}
