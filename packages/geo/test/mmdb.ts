/** A prefix as bits, `00001001` for 9.0.0.0/8, with its country. */
export type Prefixes = readonly (readonly [bits: string, country: string])[]

const uint16 = (value: number) => [0xa2, value >> 8, value & 255]
const uint32 = (value: number) => [0xc4, value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255]
const text = (value: string) => [0x40 | value.length, ...Buffer.from(value)]
const map = (entries: Record<string, number[]>) => [
  0xe0 | Object.keys(entries).length,
  ...Object.entries(entries).flatMap(([name, value]) => [...text(name), ...value]),
]

/** An MMDB file of these countries (MaxMind DB File Format 2.0). In a tree of IPv6 the prefixes are those of IPv6. */
export function mmdbFile(prefixes: Prefixes, ip_version: 4 | 6, record_size: 24 | 28 | 32): Buffer {
  const nodes: (number | null)[][] = [[null, null]]
  const data: number[] = []
  const leaves: { node: number; side: number; at: number }[] = []
  for (const [bits, country] of prefixes) {
    let node = 0
    for (const bit of bits.slice(0, -1)) {
      const side = Number(bit)
      nodes[node]![side] ??= nodes.push([null, null]) - 1
      node = nodes[node]![side]!
    }
    leaves.push({ node, side: Number(bits.at(-1)), at: data.length })
    data.push(...map({ country_code: text(country) }))
  }
  for (const { node, side, at } of leaves) nodes[node]![side] = nodes.length + 16 + at
  const tree = nodes.flatMap(([left, right]) => records(left ?? nodes.length, right ?? nodes.length, record_size))
  const metadata = map({
    node_count: uint32(nodes.length),
    record_size: uint16(record_size),
    ip_version: uint16(ip_version),
    database_type: text('test'),
    binary_format_major_version: uint16(2),
    binary_format_minor_version: uint16(0),
    build_epoch: uint32(1_700_000_000),
  })
  const marker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')
  return Buffer.concat([Buffer.from(tree), Buffer.alloc(16), Buffer.from(data), marker, Buffer.from(metadata)])
}

function records(left: number, right: number, size: 24 | 28 | 32): number[] {
  const low = (value: number) => [(value >> 16) & 255, (value >> 8) & 255, value & 255]
  if (size === 24) return [...low(left), ...low(right)]
  if (size === 32) return [left >>> 24, ...low(left), right >>> 24, ...low(right)]
  return [...low(left), ((left >>> 24) << 4) | (right >>> 24), ...low(right)]
}
