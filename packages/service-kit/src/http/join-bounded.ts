/** Joins events, in order, to the items of JSON arrays of at most `bytes_max` each. A single event always fits (`limits`). */
export function joinBounded(events: readonly object[], bytes_max: number): string[] {
  const [first] = events
  if (events.length === 1) return [JSON.stringify(first)]
  const joined: string[] = []
  let items = ''
  let bytes = 0
  for (const event of events) {
    const text = JSON.stringify(event)
    const size = Buffer.byteLength(text) + 1
    if (items !== '' && bytes + size > bytes_max) {
      joined.push(items)
      items = ''
      bytes = 0
    }
    items = items === '' ? text : `${items},${text}`
    bytes += size
  }
  joined.push(items)
  return joined
}
