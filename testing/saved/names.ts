/** What the product drew in this replay, by the name that a history and its outcome give it. */
export interface Names {
  set(name: string, value: string): void
  /** Throws for a name that no answer has given. */
  get(name: string): string
  /** Puts values in the place of names, and 5 times the letter x in the place of `{{x:5}}`. */
  fill(text: string): string
  /** Puts names in the place of values, and a word in the place of what nobody named. */
  hide(text: string): string
}

/** What differs from replay to replay and that no step names: ids of gateways, requests and events that the product draws. */
const drawn: [RegExp, string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.[0-9a-f]{12}/g, '<click>'],
  [/srv_[0-9a-f]{4}\.\.\.[0-9a-f]{4}/g, 'srv_<part>'],
  [/-[0-9a-f]{8}-\d+\.jsonl\.gz/g, '-<gateway>.jsonl.gz'],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g, '<uuid>'],
]

export function createNames(): Names {
  const values = new Map<string, string>()
  function get(name: string): string {
    const value = values.get(name)
    if (value === undefined) throw new Error(`no answer gave {{${name}}}`)
    return value
  }
  return {
    get,
    set: (name, value) => void values.set(name, value),
    fill: (text) =>
      text
        .replaceAll(/\{\{x:(\d+)\}\}/g, (_, times: string) => 'x'.repeat(Number(times)))
        .replaceAll(/\{\{([\w.]+)\}\}/g, (_, name: string) => get(name)),
    hide(text) {
      // The longest first: a click with its signature holds the click.
      const known = [...values].toSorted(([, a], [, b]) => b.length - a.length)
      const named = known.reduce((rest, [name, value]) => rest.replaceAll(value, `{{${name}}}`), text)
      return drawn.reduce((rest, [pattern, word]) => rest.replaceAll(pattern, word), named)
    },
  }
}
