import { elementsOf, membersOf, type Span, splice } from './json-spans.ts'

const quote = 0x22
const empty = Buffer.from('""')

/**
 * Blanks the address and the agent of an audited request or of an archived click, and the addresses that events tell of their
 * device; null where it holds none. All other bytes are those that came.
 */
export function blankRequest(json: Buffer): Buffer | null {
  const found = [...addressesOf(json)].filter(({ from, to }) => json[from] === quote && to - from > empty.length)
  if (found.length === 0) return null
  return splice(
    json,
    found.map((span) => ({ ...span, to_be: empty })),
  )
}

function* addressesOf(json: Buffer): Generator<Span> {
  for (const { name, value } of membersOf(json, 0)) {
    if (name === 'ip' || name === 'user_agent') yield value
    if (name === 'headers') yield* named(json, value, 'user-agent')
    if (name !== 'body') continue
    yield* ofDevice(json, value)
    for (const events of named(json, value, 'events'))
      for (const event of elementsOf(json, events.from)) yield* ofDevice(json, event)
  }
}

function* ofDevice(json: Buffer, event: Span): Generator<Span> {
  for (const device of named(json, event, 'device')) yield* named(json, device, 'ip')
}

/** All members of a name, since one may come twice. */
function* named(json: Buffer, { from }: Span, wanted: string): Generator<Span> {
  for (const { name, value } of membersOf(json, from)) if (name === wanted) yield value
}
