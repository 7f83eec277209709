import { hour_ms } from '@tributary/contracts/limits'

/** What differs of an app in an hour, in one store. Numbers are of the things of that store. */
export interface Difference {
  /** Empty for postbacks, which name no app. */
  app_id: string
  /** Begin of the hour, Unix epoch ms; of a figure of a day, of its first hour. */
  hour_ms: number
  /** Table, topic or `audit`. */
  store: string
  expected: number
  found: number
  /** Where, in words; some of them. They name objects, events and clicks, never installs nor amounts. */
  examples: string[]
}

/** What a look has found. */
export interface Looked {
  differences: Difference[]
  /** Hours of apps (`<app_id>/<begin>`) that were compared. */
  hours: Set<string>
}

/** Examples of one difference. */
const examples_max = 5

export const hourOf = (ms: number): number => Math.floor(ms / hour_ms) * hour_ms

/** Names a difference: a second look finds it again under this name. */
export const nameOf = ({ app_id, hour_ms, store, expected, found }: Difference): string =>
  `${app_id}/${hour_ms}/${store}/${found > expected}`

/** Differences of one name as one. */
export function merged(differences: readonly Difference[]): Difference[] {
  const byName = Map.groupBy(differences, nameOf)
  return [...byName.values()].map((some) => {
    const expected = Math.max(...some.map((one) => one.expected))
    const off = some.reduce((sum, one) => sum + one.found - one.expected, 0)
    return { ...some[0]!, expected, found: expected + off, examples: someOfEach(some.map((one) => one.examples)) }
  })
}

/** The first of each list, then the second of each, and so on: no fault hides another one. */
function someOfEach(lists: readonly (readonly string[])[]): string[] {
  const rounds = Array.from({ length: examples_max }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1)))
  return [...new Set(rounds.flat())].slice(0, examples_max)
}

/** One thing that is not as it should be: how an example says it, and its name where that says more than the name. */
interface Fault {
  example: string
  name?: string
  count?: number
}

/** Things of one kind by hour: how many there should be, and which are not as they should. */
export interface Tallied {
  /** Counts what should be there. */
  expect(at_ms: number, count?: number): void
  /** One that is missing. */
  miss(at_ms: number, fault: Fault): void
  /** One that is there and should not be. */
  exceed(at_ms: number, fault: Fault): void
  differences(): Difference[]
}

/** Decides by its name whether a fault of a store counts. */
interface Counting {
  counts(store: string, name: string): boolean
}

/** Counts by the hours of an app what a store should hold, and the faults that count. */
export function tallied(app_id: string, store: string, { counts }: Counting): Tallied {
  const byHour = new Map<number, { expected: number; missing: number; surplus: number; examples: string[] }>()
  const of = (at_ms: number) => {
    const hour = hourOf(at_ms)
    const found = byHour.get(hour) ?? { expected: 0, missing: 0, surplus: 0, examples: [] as string[] }
    byHour.set(hour, found)
    return found
  }
  const note = (at_ms: number, what: 'missing' | 'surplus', { example, name = example, count = 1 }: Fault) => {
    if (!counts(store, name)) return
    const found = of(at_ms)
    found[what] += count
    if (found.examples.length < examples_max) found.examples.push(example)
  }
  return {
    expect(at_ms, count = 1) {
      of(at_ms).expected += count
    },
    miss: (at_ms, fault) => note(at_ms, 'missing', fault),
    exceed: (at_ms, fault) => note(at_ms, 'surplus', fault),
    differences: () =>
      [...byHour].flatMap(([hour_ms, { expected, missing, surplus, examples }]) => [
        ...(missing > 0 ? [{ app_id, hour_ms, store, expected, found: expected - missing, examples }] : []),
        ...(surplus > 0 ? [{ app_id, hour_ms, store, expected, found: expected + surplus, examples }] : []),
      ]),
  }
}
