import { byte } from './scan-json.ts'

/**
 * True when the JSON array that `json` begins with has more items than `items_max`. It stops reading as soon as it
 * knows. Bytes that are no JSON may get either answer; the parser refuses them.
 */
export function hasMoreItems(json: Buffer, items_max: number): boolean {
  let items = 1
  let depth = 0
  for (let at = 0; at < json.length; at += 1) {
    const c = json[at]!
    if (c === byte.quote) {
      at = endOfString(json, at + 1)
      if (at === -1) return false
    } else if (c === byte.open_array || c === byte.open_object) depth += 1
    else if (c === byte.close_array || c === byte.close_object) {
      depth -= 1
      if (depth === 0) return false
    } else if (c === byte.comma && depth === 1) {
      items += 1
      if (items > items_max) return true
    }
  }
  return false
}

/** The index of the quote that ends a string; -1 without one. */
function endOfString(json: Buffer, from: number): number {
  for (let end = json.indexOf(byte.quote, from); end !== -1; end = json.indexOf(byte.quote, end + 1)) {
    let escapes = 0
    while (json[end - 1 - escapes] === byte.backslash) escapes += 1
    if (escapes % 2 === 0) return end
  }
  return -1
}
