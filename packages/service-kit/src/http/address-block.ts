/**
 * What one client may hold of the address space, as a name: an IPv4 address itself, the /64 of an IPv6 address, since a
 * client has all of that (decisions.md "Block"). Takes addresses as `clientAddress` gives them.
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
