import { numberAddress } from '../address.ts'
import { BadGeoFile, type SourceRange } from './source.ts'

const line_shape = /^([\da-fA-F.:]+),([\da-fA-F.:]+),(?:([A-Z]{2})|(\d{1,10})(?:,.*)?)\r?$/

/** The ranges of a CSV: `first,last,DE` or `first,last,64500,name`; addresses as text or as whole numbers. Throws `BadGeoFile`. */
export function* readCsv(bytes: Buffer): Generator<SourceRange> {
  let at = 0
  for (let line = 1; at < bytes.length; line += 1) {
    const end = bytes.indexOf(10, at)
    const text = bytes.toString('utf8', at, end === -1 ? bytes.length : end)
    at = end === -1 ? bytes.length : end + 1
    if (text.trim() === '') continue
    const range = readLine(text)
    if (range === null) throw new BadGeoFile(`Line ${line} is no range: ${JSON.stringify(text.slice(0, 80))}.`)
    yield range
  }
}

function readLine(text: string): SourceRange | null {
  const [, from = '', to = '', country, asn] = line_shape.exec(text) ?? []
  const first = numberOf(from)
  const last = numberOf(to)
  if (first === null || last === null || first.family !== last.family || first.number > last.number) return null
  const found = country === undefined ? { asn: Number(asn) } : { country }
  return { family: first.family, first: first.number, last: last.number, found }
}

/** An address, or its number with all bits. */
function numberOf(text: string): { family: 4 | 6; number: bigint } | null {
  if (/^\d+$/.test(text)) {
    const number = BigInt(text)
    if (number < 2n ** 32n) return { family: 4, number }
    return number < 2n ** 128n ? { family: 6, number: number >> 64n } : null
  }
  const address = numberAddress(text)
  return address === null ? null : { family: address.family, number: BigInt(address.number) }
}
