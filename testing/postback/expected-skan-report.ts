import { hour_ms, limits } from '@tributary/contracts/limits'
import type { CvSchema, CvVersion } from '@tributary/contracts/postback/cv-schema'
import type { ReportRow } from '@tributary/contracts/reports'
import type { PostbackKeys } from '@tributary/domain/postback/keys'
import { type ReadPostback, type ReceivedPostback, readReceived } from './received.ts'

/** An app with its App Store item id. */
export interface StoreApp {
  app_id: string
  store_id: string
  development_keys: boolean
  /** Versions, the first one first. */
  schemas: readonly CvVersion[]
}

/** All that the report depends on. */
export interface PostbackHistory {
  /** Postbacks in the order of the log. */
  postbacks: readonly ReceivedPostback[]
  /** All apps of all companies. */
  apps: readonly StoreApp[]
  keys: PostbackKeys
}

type SkanRow = ReportRow<'skan'>

interface Judged extends ReceivedPostback, ReadPostback {}

/**
 * The report `skan` of an app by the words of docs/rules.md#skan-report: loops over raw postbacks, which are read and
 * verified here. Rows are in the order of day, protocol, network, source and sequence index.
 */
export function expectedSkanReport(
  { postbacks, apps, keys }: PostbackHistory,
  app: StoreApp,
  window: { since_ms: number; until_ms: number },
): SkanRow[] {
  const all = postbacks.map((postback): Judged => ({ ...postback, ...readReceived(postback, keys) }))
  const isOurs = (one: Judged) => appOf(one, apps) === app
  const isInside = (one: Judged) => one.received_at_ms >= window.since_ms && one.received_at_ms < window.until_ms
  const trusted = ['production', ...(app.development_keys ? ['development'] : [])]
  const counted = winners(all).filter(({ environment = '', lost }) => trusted.includes(environment) && !lost)
  const proven = new Set(all.filter(({ verdict }) => verdict === 'valid').map(claimOf))
  const unproven = all.filter((one) => !proven.has(claimOf(one)))
  const groups = new Map<string, { counted: Judged[]; unproven: Judged[] }>()
  const here = all.filter(isOurs).filter(isInside)
  const inside = new Set(here)
  const nameless = namelessGroups(here)
  for (const [kind, list] of Object.entries({ counted, unproven })) {
    for (const one of list.filter((each) => inside.has(each))) {
      const shown = nameless.has(groupOf(one)) ? { ...one, network: '', source: '' } : one
      const group = groups.get(groupOf(shown)) ?? { counted: [], unproven: [] }
      group[kind as keyof typeof group].push(one)
      groups.set(groupOf(shown), group)
    }
  }
  return [...groups]
    .map(([name, { counted, unproven }]) => ({ ...rowOf(counted, unproven, app.schemas), ...namesOf(name) }))
    .sort(byGroup)
}

/** A group of postbacks that has a row. */
const groupOf = (one: Judged): string => JSON.stringify([dayOf(one), one.protocol, one.network, one.source, one.index])
const namesOf = (group: string) => {
  const [, , network, source] = JSON.parse(group) as string[]
  return { network: network!, source: source! }
}

/** Groups of nothing proven beyond the first of each day: those with fewer postbacks, and behind the others by name. */
function namelessGroups(here: readonly Judged[]): Set<string> {
  const groups = Map.groupBy(here, groupOf)
  const unproven = [...groups].filter(([, list]) => list.every(({ verdict }) => verdict !== 'valid'))
  const days = Map.groupBy(unproven, ([, [one]]) => dayOf(one!))
  const named = [...days.values()].flatMap((of_day) =>
    of_day
      .toSorted(([, a], [, b]) => b.length - a.length || byNames(a[0]!, b[0]!))
      .slice(0, limits.report_unproven_groups_max),
  )
  const known = new Set(named.map(([name]) => name))
  return new Set(unproven.map(([name]) => name).filter((name) => !known.has(name)))
}

function byNames(a: Judged, b: Judged): number {
  for (const name of ['protocol', 'network', 'source', 'index'] as const)
    if (a[name] !== b[name]) return a[name] < b[name] ? -1 : 1
  return 0
}

const dayOf = ({ received_at_ms }: Judged): string => new Date(received_at_ms).toISOString().slice(0, 10)

/** What may be counted once. */
const claimOf = ({ protocol, network, id, index }: Judged): string => JSON.stringify([protocol, network, id, index])

/** The advertised app, else the app that showed the ad. */
function appOf(one: Judged, apps: readonly StoreApp[]): StoreApp | undefined {
  const find = (item: string) => apps.find(({ store_id }) => store_id !== '' && store_id === item)
  return find(one.advertised) ?? find(one.publisher)
}

/** The first valid postback of each claim and environment, by received time, then place in the log. */
function winners(all: readonly Judged[]): Judged[] {
  const first = new Map<string, Judged>()
  const valid = all.filter(({ verdict }) => verdict === 'valid')
  for (const one of valid.toSorted((a, b) => a.received_at_ms - b.received_at_ms)) {
    const name = `${claimOf(one)} ${one.environment}`
    if (!first.has(name)) first.set(name, one)
  }
  return [...first.values()]
}

function rowOf(counted: Judged[], unproven: Judged[], schemas: readonly CvVersion[]): SkanRow {
  const one = (counted[0] ?? unproven[0])!
  const count = (isCounted: (one: Judged) => boolean) => counted.filter(isCounted).length
  const fine: Record<string, number> = {}
  for (const { fine: value } of counted) if (value !== undefined) fine[value] = (fine[value] ?? 0) + 1
  const decoded = counted.map((postback) => decode(postback, schemas))
  const versions = new Set(decoded.map(({ version }) => version))
  /** Added exactly, rounded once to 4 places, halves up: no band is negative. */
  const sum = (micros: number[]) => Math.floor((micros.reduce((total, amount) => total + amount, 0) + 50) / 100) / 1e4
  return {
    ...{ day: dayOf(one), protocol: one.protocol, network: one.network, source: one.source },
    ...{ sequence_index: one.index as SkanRow['sequence_index'], postbacks: counted.length },
    installs: count(({ index, type }) => index === 0 && type === 'install'),
    redownloads: count(({ index, type }) => index === 0 && type === 'redownload'),
    cv_null: count((postback) => postback.fine === undefined && postback.coarse === undefined),
    fine,
    coarse_low: count(({ coarse }) => coarse === 'low'),
    coarse_medium: count(({ coarse }) => coarse === 'medium'),
    coarse_high: count(({ coarse }) => coarse === 'high'),
    revenue_min_usd: sum(decoded.map(({ min }) => min)),
    revenue_max_usd: sum(decoded.map(({ max }) => max)),
    unverified: new Set(unproven.map(claimOf)).size,
    schema_version: versions.size === 1 ? ([...versions][0] ?? null) : null,
    schema_ambiguous: decoded.some(({ ambiguous }) => ambiguous),
  }
}

/** Oldest install of a postback, in hours before it came: end of Apple's window and longest delay. */
function oldestHours({ protocol, version, index }: Judged): number {
  if (protocol === 'skan' && !/^([4-9]|\d\d+)\./.test(version)) return 64 * 24 + 24
  return [48 + 48, 168 + 144, 840 + 144][index]!
}

/** Version and revenue in millionths of a USD. */
function decode(postback: Judged, schemas: readonly CvVersion[]) {
  const { received_at_ms, index, fine, coarse } = postback
  const oldest_ms = received_at_ms - oldestHours(postback) * hour_ms
  const live = schemas.filter(({ published_at_ms }) => published_at_ms <= oldest_ms).at(-1)
  const ambiguous = schemas.some(
    ({ published_at_ms }) => published_at_ms > oldest_ms && published_at_ms <= received_at_ms,
  )
  const lists = live?.schema.postbacks.find((one) => one.postback_sequence_index === index)
  const bands: Band[] = (fine === undefined ? lists?.coarse : lists?.fine) ?? []
  const band = bands.find(({ value }) => value === (fine ?? coarse))
  const min = Math.round((band?.revenue_min_usd ?? 0) * 1e6)
  const max = band?.revenue_max_usd == null ? min : Math.round(band.revenue_max_usd * 1e6)
  return { version: live?.version ?? null, ambiguous, min, max }
}
type Lists = CvSchema['postbacks'][number]
type Band = Lists['fine'][number] | Lists['coarse'][number]

const order = ['day', 'protocol', 'network', 'source', 'sequence_index'] as const
function byGroup(a: SkanRow, b: SkanRow): number {
  for (const name of order) if (a[name] !== b[name]) return a[name] < b[name] ? -1 : 1
  return 0
}
