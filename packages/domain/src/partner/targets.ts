import { BlockList, isIP, isIPv4 } from 'node:net'
import { normalAddress } from '@tributary/contracts/networks'

/**
 * Networks that no postback reaches: those of IANA's special-purpose registries (RFC 6890), multicast, and the address at which Azure
 * answers its machines. 100.64.0.0/10 and 169.254.0.0/16 hold the metadata of other clouds.
 */
const closed = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '168.63.129.16/32', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ...['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'],
]
/** All other addresses of IPv6 are no unicast addresses of the internet. */
const open6 = ['2000::/3']

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const text of networks) {
    const [address = '', bits] = text.split('/')
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    list.addSubnet(address, Number(bits ?? (family === 'ipv4' ? 32 : 128)), family)
  }
  return list
}
const familyOf = (address: string) => (isIPv4(address) ? 'ipv4' : 'ipv6')
const closedList = listOf(closed)
const openList6 = listOf(open6)

/** Which addresses postbacks may reach. */
export interface Targets {
  /** Whether an address as DNS or a URL gives it, without brackets, is one of the internet, or is allowed. */
  mayReach(address: string): boolean
  /** Whether `TRIBUTARY_POSTBACK_ALLOWED_NETWORKS` names it: plain http and any port are allowed there. */
  isAllowed(address: string): boolean
}

/** `allowed` are addresses and CIDR ranges that may be reached whatever they are. */
export function openTargets(allowed: readonly string[]): Targets {
  const allowedList = listOf(allowed)
  const isAllowed = (address: string): boolean => {
    const normal = normalAddress(address)
    return normal !== null && allowedList.check(normal, familyOf(normal))
  }
  return {
    isAllowed,
    mayReach(address) {
      if (isAllowed(address)) return true
      const [bare = ''] = address.split('%', 1)
      const version = isIP(bare)
      // An IPv4 address in the form of an IPv6 one lies outside 2000::/3.
      if (version === 6 && !openList6.check(bare, 'ipv6')) return false
      return version !== 0 && !closedList.check(bare, familyOf(bare))
    },
  }
}

/**
 * Why a postback does not go to a URL whose host has these addresses; null if it may. Without addresses the name alone is judged. The addresses
 * stay unsaid: whoever may set a partner could look up names of the network that we stand in.
 */
export function targetFault(targets: Targets, origin: URL, addresses: readonly string[]): string | null {
  if (!addresses.every(targets.mayReach))
    return `${origin.hostname} leads to an address that is none of the internet, nor of TRIBUTARY_POSTBACK_ALLOWED_NETWORKS.`
  if (addresses.length > 0 && addresses.every(targets.isAllowed)) return null
  if (origin.protocol !== 'https:') return 'Only https is allowed.'
  if (origin.port !== '') return 'Only port 443 is allowed.'
  return null
}

/** The address that a URL names itself; null for a name. */
export function literalAddress({ hostname }: URL): string | null {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(bare) === 0 ? null : bare
}
