import { Reader } from 'mmdb-lib'
import type { Family } from '../address.ts'
import { BadGeoFile, type SourceRange } from './source.ts'

/** Stands before the description at the end of each file (MaxMind DB File Format 2.0, "Database Metadata"). */
const marker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')

export const isMmdb = (bytes: Buffer): boolean => bytes.lastIndexOf(marker) !== -1

/** What the usual databases say: ip-location-db and ipinfo a code alone, MaxMind and DB-IP an object. */
interface Found {
  country_code?: unknown
  country?: { iso_code?: unknown }
  autonomous_system_number?: unknown
}

/** The ranges of an MMDB file: all leaves of its tree. Throws `BadGeoFile`. */
export function* readMmdb(bytes: Buffer): Generator<SourceRange> {
  try {
    yield* readLeaves(openTree(bytes))
  } catch (cause) {
    throw new BadGeoFile('It is no whole MMDB file.', { cause })
  }
}

function* readLeaves(tree: Tree): Generator<SourceRange> {
  const found = new Map<number, SourceRange['found'] | null>()
  for (const { family, first, bits, pointer } of leaves(tree)) {
    const bounds = boundsOf(family, first, bits)
    if (!found.has(pointer)) found.set(pointer, tree.find(textOf(family, bounds.first)))
    const known = found.get(pointer) ?? null
    if (known !== null) yield { family, ...bounds, found: known }
  }
}

interface Tree {
  node_count: number
  is_ipv6: boolean
  /** The two records of a node. */
  recordOf(node: number, side: 0 | 1): number
  find(address: string): SourceRange['found'] | null
}

function openTree(bytes: Buffer): Tree {
  const reader = new Reader<never>(bytes)
  const { nodeCount: node_count, recordSize, ipVersion } = reader.metadata
  return {
    node_count,
    is_ipv6: ipVersion === 6,
    recordOf: (node, side) => readRecord(bytes, recordSize, node, side),
    find: (address) => foundOf(reader.get(address) as Found | null),
  }
}

function foundOf(found: Found | null): SourceRange['found'] | null {
  const country = found?.country_code ?? found?.country?.iso_code
  if (typeof country === 'string' && /^[A-Z]{2}$/.test(country)) return { country }
  const asn = found?.autonomous_system_number
  return typeof asn === 'number' ? { asn } : null
}

/** Records of 24, 28 and 32 bits; in the middle byte of 28 bits both records have their four highest bits. */
function readRecord(bytes: Buffer, size: number, node: number, side: 0 | 1): number {
  const at = node * (size / 4)
  if (size === 24) return bytes.readUIntBE(at + side * 3, 3)
  if (size === 32) return bytes.readUInt32BE(at + side * 4)
  const middle = bytes[at + 3]!
  const high = side === 0 ? middle >>> 4 : middle & 15
  return high * 2 ** 24 + bytes.readUIntBE(at + side * 4, 3)
}

interface Leaf {
  family: Family
  /** The first bits of its addresses, as a number of `bits` bits. */
  first: bigint
  bits: number
  pointer: number
}

/** Walks the tree. IPv4 stands in a tree of IPv6 below 96 zeros; other places that point there (6to4 ...) are left out. */
function* leaves(tree: Tree): Generator<Leaf> {
  const { node_count, is_ipv6, recordOf } = tree
  let root4 = 0
  for (let bit = 0; is_ipv6 && bit < 96 && root4 < node_count; bit += 1) root4 = recordOf(root4, 0)
  yield* walk(4, root4, 32)
  if (is_ipv6) yield* walk(6, 0, 64)

  function* walk(family: Family, root: number, bits_max: number): Generator<Leaf> {
    const open: { node: number; first: bigint; bits: number }[] = [{ node: root, first: 0n, bits: 0 }]
    while (open.length > 0) {
      const { node, first, bits } = open.pop()!
      if (node > node_count) yield { family, first, bits, pointer: node }
      if (node >= node_count || bits >= bits_max || (family === 6 && node === root4)) continue
      for (const side of [1, 0] as const) {
        open.push({ node: recordOf(node, side), first: first * 2n + BigInt(side), bits: bits + 1 })
      }
    }
  }
}

function boundsOf(family: Family, first: bigint, bits: number): { first: bigint; last: bigint } {
  const rest = BigInt((family === 4 ? 32 : 64) - bits)
  return { first: first << rest, last: ((first + 1n) << rest) - 1n }
}

function textOf(family: Family, number: bigint): string {
  const width = family === 4 ? 8n : 16n
  const parts = [3n, 2n, 1n, 0n].map((part) => (number >> (part * width)) & ((1n << width) - 1n))
  return family === 4 ? parts.join('.') : `${parts.map((part) => part.toString(16)).join(':')}::`
}
