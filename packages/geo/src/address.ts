import { isIPv4, isIPv6 } from 'node:net'

export const families = [4, 6] as const
export type Family = (typeof families)[number]

/**
 * An address as a number: all 32 bits of IPv4, and the first 64 bits of IPv6. The last 64 bits name a device in a network
 * and tell nothing of its country.
 */
export type NumberedAddress = { family: 4; number: number } | { family: 6; number: bigint }

/** Null for a text that is no address. */
export function numberAddress(text: string): NumberedAddress | null {
  if (isIPv4(text)) return { family: 4, number: numberOf4(text) }
  if (isIPv6(text)) return { family: 6, number: numberOf6(text) }
  return null
}

function numberOf4(text: string): number {
  let number = 0
  for (const part of text.split('.')) number = number * 256 + Number(part)
  return number
}

function numberOf6(text: string): bigint {
  const [head = '', tail = ''] = text.split('::')
  const left = groupsOf(head)
  const groups = text.includes('::')
    ? [...left, ...Array(Math.max(0, 8 - left.length - countOf(tail))).fill('0')]
    : left
  const first = [...groups, ...groupsOf(tail)].slice(0, 4)
  return first.reduce((number, group) => (number << 16n) | BigInt(Number.parseInt(group, 16)), 0n)
}

const groupsOf = (text: string): string[] => (text === '' ? [] : text.split(':'))
/** An IPv4 address at the end stands for two groups. */
const countOf = (text: string): number => groupsOf(text).length + (text.includes('.') ? 1 : 0)

/** Blocks that are no part of the public internet: "private", "shared", loopback and so on (RFC 6890), multicast and above. */
const special4: readonly (readonly [first: number, last: number])[] = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['224.0.0.0', '255.255.255.255'],
].map(([first = '', last = '']) => [numberOf4(first), numberOf4(last)])

/** Whether an address may belong to a person anywhere in the world. IPv6 has given out 2000::/3 alone. */
export function isPublic(address: NumberedAddress): boolean {
  if (address.family === 6) return address.number >> 61n === 1n
  return !special4.some(([first, last]) => address.number >= first && address.number <= last)
}
