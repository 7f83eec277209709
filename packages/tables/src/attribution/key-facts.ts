import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { keySet, textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import type { Place } from '@tributary/contracts/attribution/found'
import { limits } from '@tributary/contracts/limits'
import { byInstall, type Claim } from '@tributary/domain/attribute/verdict'
import { firstIndex } from '@tributary/domain/first-index'

type Query = Pick<Clickhouse, 'query'>

/** An install event that has a key. */
export interface KeyFact {
  app_id: string
  /** A result of `matchKey`. */
  match_key: string
  install_uuid: string
  received_at_ms: number
  installed_at_ms: number
  place: Place
}

/** Install events with one key, in the order of `byInstall`. */
export interface KeyFacts {
  rows: readonly KeyFact[]
  /** There are earlier ones, which are not among them. */
  cut: boolean
}

/** A key of an install. */
export interface KeyOfInstall {
  match_key: string
  install: Claim
}

/** Install events with a key, from a time on. */
export interface KeyRange {
  app_id: string
  match_key: string
  installed_from_ms: number
}

/** Keys of one statement. */
const keys_max = 5000
/** Facts of one key that are read at first: few keys have as many. */
const quietFacts = () => Math.min(2 * limits.crowd_facts, limits.key_facts_max)
/** Busy keys of one statement: whoever parses the answer holds others up. */
const busy_keys_max = 2
/** Facts that are read at first from a place on: enough, unless many are erased. */
const nearFacts = () => Math.ceil(1.25 * limits.crowd_facts)
/** Runs of one statement. */
const runs_max = 50

/**
 * Install events of an app by key, from the earliest on: of each key the latest `limits.key_facts_max` by install time, and none before
 * a time. Those of erased lives are left out by `isLiving`.
 */
export async function findLastByKey(
  clickhouse: Query,
  app_id: string,
  { match_keys, installed_from_ms }: { match_keys: readonly string[]; installed_from_ms: number },
  isLiving: (fact: KeyFact) => boolean = () => true,
): Promise<Map<string, KeyFacts>> {
  const known = await readKeys(match_keys, (keys, facts_max) =>
    clickhouse.query<Row>(
      `${select(keys, [app_id], installed_from_ms)} ORDER BY ${installOrder('DESC')} LIMIT ${facts_max} BY key`,
    ),
  )
  return new Map(
    [...Map.groupBy(known, ({ match_key }) => match_key)].map(([key, of]) => {
      const cut = of.length >= limits.key_facts_max
      return [key, { rows: of.filter(isLiving).toSorted(byInstall), cut }]
    }),
  )
}

/** Reads the facts of keys, and of keys with many apart from the others. */
async function readKeys(
  match_keys: readonly string[],
  read: (match_keys: readonly string[], facts_max: number) => Promise<Row[]>,
): Promise<KeyFact[]> {
  const found: KeyFact[] = []
  const busy: string[] = []
  for (let at = 0; at < match_keys.length; at += keys_max) {
    const rows = await read(match_keys.slice(at, at + keys_max), quietFacts())
    for (const [key, of] of Map.groupBy(rows.map(toFact), ({ match_key }) => match_key)) {
      if (of.length < quietFacts()) found.push(...of)
      else busy.push(key)
    }
  }
  for (let at = 0; at < busy.length; at += busy_keys_max) {
    const rows = await read(busy.slice(at, at + busy_keys_max), limits.key_facts_max)
    for (const row of rows) found.push(toFact(row))
  }
  return found
}

/**
 * The facts of a key around an install: those nearest before it and those nearest behind it, at least `crowd_facts` each where
 * there are so many. It reads a busy key once for each install.
 */
export async function findAround(
  clickhouse: Query,
  app_id: string,
  keys: readonly KeyOfInstall[],
  isLiving: (fact: KeyFact) => boolean = () => true,
): Promise<KeyFact[][]> {
  const runs = keys.flatMap(({ match_key, install }) =>
    (['DESC', 'ASC'] as const).map((way) => ({ app_id, match_key, way, from: install })),
  )
  const found = await readRuns(clickhouse, runs, isLiving)
  return keys.map((_, n) => [...found[2 * n]!.toReversed(), ...found[2 * n + 1]!])
}

/**
 * The first `crowd_facts` install events of each range (docs/rules.md#how-far-a-click-is-seen), without erased ones. The engine leaves
 * out those of some installs, `except`, however many they are.
 */
export async function findFirstByKey(
  clickhouse: Query,
  ranges: readonly KeyRange[],
  isLiving: (fact: KeyFact) => boolean = () => true,
  except: readonly string[] = [],
): Promise<KeyFact[][]> {
  if (ranges.length === 0) return []
  const from_ms = Math.min(...ranges.map((range) => range.installed_from_ms))
  const keys = [...new Set(ranges.map(({ match_key }) => match_key))]
  const apps = [...new Set(ranges.map(({ app_id }) => app_id))]
  const rows = await readKeys(keys, (some, facts_max) =>
    clickhouse.query<Row>(
      `${select(some, apps, from_ms)} ${exceptSql(except)} ORDER BY ${installOrder('ASC')} LIMIT ${facts_max} BY app_id, key`,
    ),
  )
  const known = new Map([...Map.groupBy(rows, nameOf)].map(([name, of]) => [name, of.toSorted(byInstall)] as const))
  const firstOf = (rows: readonly KeyFact[], { installed_from_ms }: KeyRange) => {
    const first: KeyFact[] = []
    const from = firstIndex(rows, (row) => row.installed_at_ms >= installed_from_ms)
    for (let n = from; n < rows.length && first.length < limits.crowd_facts; n += 1) {
      if (isLiving(rows[n]!)) first.push(rows[n]!)
    }
    return first
  }
  const found = ranges.map((range) => firstOf(known.get(nameOf(range)) ?? [], range))
  // The first rows of a busy key may all lie before the range.
  const short = ranges.flatMap((range, n) => {
    const isCut = (known.get(nameOf(range)) ?? []).length >= limits.key_facts_max
    return isCut && found[n]!.length < limits.crowd_facts ? [n] : []
  })
  const runs = short.map((n) => ({ ...ranges[n]!, way: 'ASC' as const, except }))
  for (const [at, facts] of (await readRuns(clickhouse, runs, isLiving)).entries()) {
    found[short[at]!] = facts.slice(0, limits.crowd_facts)
  }
  return found
}

type Way = 'ASC' | 'DESC'

/** Facts of a key in the order of `byInstall` from a time on: those behind a place, or those before it backwards. */
interface Run {
  app_id: string
  match_key: string
  way: Way
  installed_from_ms?: number
  from?: Claim
  except?: readonly string[]
}

/**
 * The living facts of each run, `crowd_facts` or more where there are so many. Where nearly all are erased it reads on: runs
 * of one key share their pages, so that its erased facts cost one reading however many runs there are.
 */
async function readRuns(
  clickhouse: Query,
  runs: readonly Run[],
  isLiving: (fact: KeyFact) => boolean,
): Promise<KeyFact[][]> {
  const found: KeyFact[][] = []
  const short: { n: number; end: KeyFact }[] = []
  const near = nearFacts()
  const shared = shareFacts()
  for (let at = 0; at < runs.length; at += runs_max) {
    const part = runs.slice(at, at + runs_max)
    const statements = part.map((run, n) => `SELECT * FROM (${runSql(run, near, n)})`)
    const rows = await clickhouse.query<Row & { n: number }>(statements.join(' UNION ALL '))
    const byNumber = Map.groupBy(rows, ({ n }) => n)
    for (const [n, run] of part.entries()) {
      const facts = (byNumber.get(n) ?? []).map(({ n: _, ...row }) => shared(toFact(row))).toSorted(orderOf(run))
      found.push(facts.filter(isLiving))
      const isShort = facts.length === near && found.at(-1)!.length < limits.crowd_facts
      if (isShort) short.push({ n: at + n, end: facts.at(-1)! })
    }
  }
  const byKey = Map.groupBy(short, ({ n }) => `${runs[n]!.way} ${nameOf(runs[n]!)}`)
  for (const of of byKey.values()) {
    const order = orderOf(runs[of[0]!.n]!)
    const inOrder = of.toSorted((a, b) => order(a.end, b.end))
    // What was read behind the end of a run and is living, and how far; null for all.
    let living: KeyFact[] = []
    let to: KeyFact | null = inOrder[0]!.end
    for (const { n, end } of inOrder) {
      living = living.filter((fact) => order(end, fact) < 0)
      if (to !== null && order(to, end) < 0) to = end
      while (to !== null && found[n]!.length + living.length < limits.crowd_facts) {
        const page: Row[] = await clickhouse.query<Row>(runSql({ ...runs[n]!, from: to }, limits.key_facts_max))
        const facts = page.map(toFact)
        living.push(...facts.filter(isLiving))
        to = facts.length < limits.key_facts_max ? null : facts.at(-1)!
      }
      found[n]!.push(...living.slice(0, limits.crowd_facts - found[n]!.length))
    }
  }
  return found
}

/** The runs of close installs find the same facts: one object each, so that memory grows with the facts and not with the runs. */
function shareFacts(): (fact: KeyFact) => KeyFact {
  const known = new Map<string, KeyFact>()
  return (fact) => {
    const { topic, partition, offset, index } = fact.place
    const name = `${fact.match_key}/${topic}/${partition}/${offset}/${index}`
    const other = known.get(name)
    if (other === undefined) known.set(name, fact)
    return other ?? fact
  }
}

const orderOf = ({ way }: Run): typeof byInstall => (way === 'ASC' ? byInstall : (a, b) => byInstall(b, a))

function runSql(
  { app_id, match_key, way, installed_from_ms = 0, from, except = [] }: Run,
  facts_max: number,
  n = 0,
): string {
  const rows = select([match_key], [app_id], installed_from_ms, `, toUInt32(${n}) AS n`)
  const bound =
    from === undefined ? '' : `AND (${orderColumns.join(', ')}) ${way === 'ASC' ? '>' : '<'} ${placeSql(from)}`
  return `${rows} ${exceptSql(except)} ${bound} ORDER BY ${installOrder(way)} LIMIT ${facts_max}`
}

function placeSql({ installed_at_ms, place }: Claim): string {
  const { topic, partition, offset, index } = place
  const [name] = topic.split('@', 1)
  return `(${Number(installed_at_ms)}, ${textLiteral(name!)}, ${Number(partition)},
    ${textLiteral(topic)}, ${Number(offset)}, ${Number(index)})`
}

interface Row extends Omit<KeyFact, 'place' | 'match_key'>, Place {
  key: string
}

const toFact = ({ app_id, key, install_uuid, received_at_ms, installed_at_ms, ...place }: Row): KeyFact => ({
  ...{ app_id, match_key: key, install_uuid, received_at_ms, installed_at_ms, place },
})

const nameOf = ({ app_id, match_key }: Pick<KeyFact, 'app_id' | 'match_key'>): string => `${app_id}/${match_key}`

/** The key alone is read of most granules (PREWHERE). */
const select = (match_keys: readonly string[], app_ids: readonly string[], from_ms: number, more = ''): string =>
  `SELECT DISTINCT app_id, toString(k.match_key) AS key, install_uuid, received_at_ms, installed_at_ms,
     topic, partition, offset, event_index AS index${more}
   FROM install_fact_keys_v1 AS k PREWHERE k.match_key IN ${keySet(match_keys)}
   WHERE app_id IN (${textLiterals(app_ids)}) AND kind = 'install' AND installed_at_ms >= ${Number(from_ms)}`

const exceptSql = (install_uuids: readonly string[]): string =>
  install_uuids.length === 0 ? '' : `AND install_uuid NOT IN (${textLiterals(install_uuids)})`

/** SQL of `byInstall`. */
const orderColumns = ['installed_at_ms', "substringIndex(topic, '@', 1)", 'partition', 'topic', 'offset', 'index']
const installOrder = (way: 'ASC' | 'DESC'): string => orderColumns.map((column) => `${column} ${way}`).join(', ')
