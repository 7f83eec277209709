/** JSON of a value that JSON.parse gave, with every lone surrogate, in keys too, replaced by U+FFFD. */
export function jsonText(value: unknown): string {
  const json = JSON.stringify(value)
  // JSON.stringify writes a lone surrogate, and nothing else, as \ud800 to \udfff; a backslash before that is text.
  if (!json.includes('\\ud')) return json
  return json.replace(/\\(?:\\|ud[89a-f][0-9a-f]{2})/g, (match) => (match === '\\\\' ? match : '\ufffd'))
}
