/** The items of a JSON array, and their number. */
export interface JoinedItems {
  items: string
  count: number
}

/** Joins events, in order, to the items of JSON arrays of at most `bytes_max` each. A single event always fits (`limits`). */
export function joinBounded(events: readonly object[], bytes_max: number): JoinedItems[] {
  const [first] = events
  if (events.length === 1) return [{ items: JSON.stringify(first), count: 1 }]
  const joined: JoinedItems[] = []
  let items = ''
  let count = 0
  let bytes = 0
  for (const event of events) {
    const text = JSON.stringify(event)
    const size = Buffer.byteLength(text) + 1
    if (items !== '' && bytes + size > bytes_max) {
      joined.push({ items, count })
      items = ''
      count = 0
      bytes = 0
    }
    items = items === '' ? text : `${items},${text}`
    count += 1
    bytes += size
  }
  joined.push({ items, count })
  return joined
}
