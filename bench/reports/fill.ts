import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { insertSettings } from '@tributary/clickhouse/insert-settings'
import { settingsSql } from '@tributary/clickhouse/settings-sql'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { day_ms } from '@tributary/contracts/limits'
import { eventRowColumns } from '@tributary/contracts/rows'
import type { MatchKind } from '@tributary/domain/attribute/match-keys'
import { installColumns } from '@tributary/tables/attribution/install-rows'
import { toDecision } from '@tributary/testing/engines/insert-verdicts'
import {
  type BenchApp,
  campaigns,
  countries,
  currencies,
  days,
  first_ms,
  levels,
  now_ms,
  partners,
  sizesOf,
} from './model.ts'

/** Rows of an insert. 500 000 exceed the memory limit of the embedded engine. */
const insert_rows = 150_000

type Values<Column extends string> = Partial<Record<Column, string>>

/** A random number from 0 to below `below` that follows from the number of a row. `salt` separates the draws of a row. */
const draw = (of: string, salt: string, below: number | string) => `(sipHash64(${of}, '${salt}') % ${below})`
/** A draw between 0 and 1. */
const share = (of: string, salt: string) => `(${draw(of, salt, 1_000_000)} / 1000000)`
const uuid = (of: string, salt: string) => `toString(reinterpretAsUUID(sipHash128(${of}, '${salt}')))`
const dayOf = (ms: string) => `toDate(fromUnixTimestamp64Milli(toInt64(${ms}), 'UTC'))`
const pick = (values: readonly string[], at: string) =>
  `arrayElement([${values.map((value) => `'${value}'`).join(', ')}], toUInt32(${at}) + 1)`

/** A time on day number `day`, on the last one before `now_ms`. */
function timeOn(day: string, of: string, salt: string): string {
  const length_ms = `if(${day} < ${days - 1}, ${day_ms}, ${now_ms % day_ms})`
  return `toInt64(${first_ms} + ${day} * ${day_ms} + ${draw(of, salt, length_ms)})`
}
const installedAt = (k: string, perDay: number) => timeOn(`intDiv(${k}, ${perDay})`, k, 'installed')

/** The days of an app that are filled. */
export interface FillProgress {
  /** The first one to fill. */
  from_day: number
  /** Called when all days before this one are filled. */
  filled(day: number): void
}

/** Fills the tables of an app through their views, day by day, as years of traffic do. Inserts that come again change nothing. */
export async function fillApp(
  clickhouse: Pick<Clickhouse, 'command'>,
  app: BenchApp,
  { from_day, filled }: FillProgress,
): Promise<void> {
  const { installs_a_day, events_a_day, clicks_a_day, costs_a_day } = sizesOf(app)
  const [installs, events] = [installValues(app, installs_a_day), eventValues(app, installs_a_day, events_a_day)]
  const facts = factValues(app, installs_a_day)
  const firsts = firstEventValues(app, installs_a_day)
  const [clicks, costs] = [clickValues(app, clicks_a_day), costValues(app, costs_a_day)]
  const days_each = Math.max(1, Math.floor(insert_rows / events_a_day))
  for (let day = from_day; day < days; day += days_each) {
    const until = Math.min(days, day + days_each)
    const fill = async (
      what: string,
      table: string,
      values: Values<string>,
      columns: readonly string[],
      perDay: number,
    ) => {
      const present = columns.filter((column) => values[column] !== undefined)
      const select = present.map((column) => values[column]).join(', ')
      for (let from = day * perDay; from < until * perDay; from += insert_rows) {
        const rows = Math.min(insert_rows, until * perDay - from)
        const token = `fill/${app.app_id}/${what}/${from}`
        const settings = settingsSql({ ...insertSettings, insert_deduplication_token: token })
        await clickhouse.command(
          `INSERT INTO ${table} (${present.join(', ')}) SELECT ${select} FROM (SELECT number AS n FROM numbers(${from}, ${rows})) SETTINGS ${settings}`,
        )
      }
    }
    await fill('facts', 'install_facts_v1', facts, Object.keys(facts), installs_a_day)
    await fill('installs', 'installs_v1', installs, installColumns, installs_a_day)
    await fill('firsts', 'events_raw_v1', firsts, eventRowColumns, installs_a_day)
    await fill('events', 'events_raw_v1', events, eventRowColumns, events_a_day)
    await fill('clicks', 'clicks_raw_v1', clicks, Object.keys(clicks), clicks_a_day)
    await fill('costs', 'costs_v1', costs, Object.keys(costs), costs_a_day)
    filled(until)
  }
}

/** A click id of a time: UUIDv7. */
function clickId(at: string, salt: string): string {
  const [time, random] = [`lower(leftPad(hex(${at}), 12, '0'))`, `lower(hex(sipHash128(n, '${salt}')))`]
  const [first, second] = [`substring(right(${time}, 12), 1, 8)`, `right(${time}, 4)`]
  const tail = [`'-7'`, `left(${random}, 3)`, `'-8'`, `substring(${random}, 4, 3)`, `'-'`, `right(${random}, 12)`]
  return `concat(${[first, `'-'`, second, ...tail].join(', ')})`
}

/** A campaign and what it is made of, of the number of a campaign. */
const campaignOf = (number: string) => ({
  partner: pick(partners, `${number} % ${partners.length}`),
  campaign: `concat('campaign_', toString(${number}))`,
})
/** Partner, campaign and country of click or install `n`. */
const spent = {
  ...campaignOf(draw('n', 'campaign', campaigns)),
  ad_group: `concat('group_', toString(${draw('n', 'ad_group', 3)}))`,
  creative: `concat('creative_', toString(${draw('n', 'creative', 2)}))`,
  link_id: `concat('lnk_', toString(${draw('n', 'campaign', campaigns)}))`,
  country: pick(countries, `floor(pow(${share('n', 'country')}, 2) * ${countries.length})`),
}

/** Click `n`: 10 of 100 are filtered. They have no keys, which reports never read. */
function clickValues({ app_id }: BenchApp, perDay: number): Values<string> {
  const at = installedAt('n', perDay)
  const labels = (['ad_group', 'creative', 'link_id', 'country'] as const).map(
    (one) => `'"${one}":"', ${spent[one]}, '"'`,
  )
  return {
    ...{ app_id: `'${app_id}'`, click_id: clickId(at, 'clicks'), day: dayOf(at), clicked_at_ms: at },
    ...{ partner: spent.partner, campaign: spent.campaign },
    filtered_reason: `if(${draw('n', 'filtered', 10)} = 0, 'bot', '')`,
    click: `concat('{', ${labels.join(`, ',', `)}, ',"os":"android","os_major":14,"model":"Pixel 8 Pro"}')`,
    ...{ topic: `'clicks.recorded.v1@bench'`, partition: '0', offset: 'n' },
  }
}

/** Cost `n`: each campaign of each day in the countries that have most installs. */
function costValues({ app_id }: BenchApp, perDay: number): Values<string> {
  const [of_day, day] = [`(n % ${perDay})`, `intDiv(n, ${perDay})`]
  return {
    ...{ app_id: `'${app_id}'`, day: `addDays(${dayOf(`${first_ms}`)}, ${day})` },
    ...campaignOf(`(${of_day} % ${campaigns})`),
    country: pick(countries, `intDiv(${of_day}, ${campaigns})`),
    cost_micros: `toInt64(${draw('n', 'cost', 100)} + 1) * 1230000`,
    currency: pick(currencies, draw('n', 'currency', currencies.length)),
    ...{ number: 'n', uploaded_at_ms: `${first_ms}` },
  }
}

/** Install `n`: 40 of 100 are organic, 5 reinstalls, 3 flagged. */
function installValues({ app_id }: BenchApp, perDay: number): Values<(typeof installColumns)[number]> {
  const at = installedAt('n', perDay)
  const organic = `${draw('n', 'organic', 100)} < 40`
  const decision = JSON.stringify(
    toDecision(app_id, { ...installed, install_uuid: '%', installed_at_ms: first_ms, partner: partners[0]! }, 0),
  )
  const [before = '', after = ''] = decision.split('%')
  return {
    app_id: `'${app_id}'`,
    install_uuid: uuid('n', app_id),
    day: dayOf(at),
    ...{ installed_at_ms: at, received_at_ms: `${at} + 900`, decided_at_ms: `${at} + 1900`, pending: '0' },
    partner: `if(${organic}, 'organic', ${spent.partner})`,
    campaign: `if(${organic}, '', ${spent.campaign})`,
    ad_group: `if(${organic}, '', ${spent.ad_group})`,
    creative: `if(${organic}, '', ${spent.creative})`,
    country: spent.country,
    attribution_type: `if(${organic}, 'organic', ${pick(['click_id', 'install_referrer', 'device_id'], draw('n', 'method', 3))})`,
    link_id: `if(${organic}, '', ${spent.link_id})`,
    click_id: `if(${organic}, '', ${clickId(`${at} - 60000`, 'click')})`,
    clicked_at_ms: `if(${organic}, 0, ${at} - 60000)`,
    reinstall: `${draw('n', 'reinstall', 100)} < 5`,
    fraud_flags: `if(${draw('n', 'flagged', 100)} < 3, ['fast_install'], [])`,
    ...{ rule_version: '1', decision: `concat('${before}', ${uuid('n', app_id)}, '${after}')` },
    ...{ event_topic: `'events.accepted.v1@bench'`, event_partition: '0', event_offset: 'n', event_index: '0' },
    ...{ sign: '1', topic: `'installs.attributed.v1@${app_id}'`, partition: '0', offset: 'n' },
  }
}
const installed = { attribution_type: 'click_id', reinstall: false, flagged: false, pending: false }

/** A key of facts, as `matchKey` makes it. `value` is SQL. */
const keyOf = (kind: MatchKind, value: string) =>
  `reinterpretAsUInt64(reverse(substring(SHA256(concat('${kind}', char(0), ${value})), 1, 8)))`

/** The fact that the install-attributor keeps of install `n`. 65 000 networks have all installs. */
function factValues({ app_id }: BenchApp, perDay: number): Values<string> {
  const at = installedAt('n', perDay)
  const [device, user] = [`lower(hex(sipHash128(n, '${app_id}/device')))`, `concat('player-', toString(n))`]
  const network = ['net', 'work'].map((salt) => `toString(${draw('n', salt, 256)})`).join(`, '.', `)
  const fact = JSON.stringify({
    ...{ kind: 'install', v: 1, company_id: 'co_bench', app_id, install_uuid: '%uuid', received_at_ms: -1 },
    place: { topic: 'events.accepted.v1@bench', partition: 0, offset: -3, index: 0 },
    ...{ event_name: 'app_install', is_sdk: true, platform: 'android', installed_at_ms: -2, ip: '%ip' },
    ...{ os_major: 14, model: 'Pixel 8 Pro', device_hashes: ['%device'], user_id: '%user', referrer: null },
    ...{ named_click: null, referrer_click_server_s: null, install_begin_server_s: null },
  } satisfies InstallFact)
  const filled: Record<string, string> = {
    ...{ '%uuid': uuid('n', app_id), '%device': device, '%user': user },
    ...{ '%ip': `concat('100.', ${network}, '.', toString(n % 250))` },
    ...{ '-1': `toString(${at} + 900)`, '-2': `toString(${at})`, '-3': 'toString(n)' },
  }
  const parts = fact.split(/(%uuid|%device|%user|%ip|-[123](?=[,}]))/)
  const keys = [keyOf('device', device), keyOf('user', user), keyOf('network', `concat('100.', ${network}, '.0/24')`)]
  return {
    ...{ app_id: `'${app_id}'`, install_uuid: uuid('n', app_id), day: dayOf(at), received_at_ms: `${at} + 900` },
    ...{ kind: `'install'`, fact: `concat(${parts.map((part) => filled[part] ?? `'${part}'`).join(', ')})` },
    match_keys: `[${keys.join(', ')}]`,
    ...{ topic: `'events.accepted.v1@bench'`, partition: '0', offset: 'n', event_index: '0' },
  }
}

interface EventOf {
  app_id: string
  /** SQL of the number of its install, of its time, and of its name. */
  install: string
  ts: string
  name: string
  /** SQL of its amount in micros, null without money. */
  micros: string
  /** Keeps the ids of two kinds of events apart. */
  salt: string
}

/** The install event of install `n`. */
const firstEventValues = ({ app_id }: BenchApp, perDay: number) =>
  valuesOf({ app_id, install: 'n', ts: installedAt('n', perDay), name: `'app_install'`, micros: 'NULL', salt: 'i' })

/** Event `n`: a third is of the day of its install, the others up to 90 days later. 2 of 100 bring money. */
function eventValues({ app_id }: BenchApp, installs_a_day: number, perDay: number) {
  const day = `intDiv(n, ${perDay})`
  const age = `toUInt64(floor(pow(${share('n', 'age')}, 4) * least(90, ${day} + 1)))`
  const install = `((${day} - ${age}) * ${installs_a_day} + ${draw('n', 'install', installs_a_day)})`
  const ts = `greatest(${timeOn(day, 'n', 'ts')}, ${installedAt(install, installs_a_day)})`
  const level = `concat('level_', toString(toUInt32(floor(pow(${share('n', 'level')}, 2) * ${levels}))))`
  const kind = draw('n', 'kind', 1000)
  const name = `multiIf(${kind} < 19, 'purchase', ${kind} < 20, 'purchase_refunded', ${level})`
  const amount = `toInt64((${draw('n', 'amount', 50)} + 1) * 990000)`
  const micros = `multiIf(${kind} < 19, ${amount}, ${kind} < 20, -${amount}, NULL)`
  return valuesOf({ app_id, install, ts, name, micros, salt: 'e' })
}

function valuesOf({ app_id, install, ts, name, micros, salt }: EventOf): Values<(typeof eventRowColumns)[number]> {
  const paid = `isNotNull(${micros})`
  return {
    ...{ app_id: `'${app_id}'`, company_id: `'co_bench'`, install_uuid: uuid(install, app_id), ts_ms: ts },
    ...{ day: dayOf(ts), event_name: name, event_id: uuid('n', salt), event_key: `sipHash64(n, '${salt}')` },
    key_day: salt === 'i' ? `toDate('1970-01-01')` : dayOf(ts),
    user_id: `concat('player-', toString(${install}))`,
    revenue_micros: micros,
    currency: `if(${paid}, ${pick(currencies, draw('n', 'currency', currencies.length))}, '')`,
    transaction_id: `if(${paid}, concat('GPA.', hex(sipHash64(n, 'transaction'))), '')`,
    transaction_key: `if(${paid}, sipHash64(n, 'transaction'), 0)`,
    product_id: `if(${paid}, 'gems_500', '')`,
    revenue_counts: `toUInt8(${paid})`,
    props: `concat('{"level":', toString(n % 100), ',"score":', toString(${draw('n', 'score', 1_000_000)}), ',"mode":"ranked"}')`,
    ...{ device: `'{"os":"android","os_version":"14"}'`, extra: `'{}'`, platform: `'android'`, source: `'sdk'` },
    ...{ sdk: `'unity-2.1.0'`, sdk_platform: `'android'`, user_agent: `'UnityPlayer/6000.0.23f1'` },
    ip: `concat('203.0.', toString(${draw(install, 'net', 250)}), '.', toString(${draw(install, 'ip', 250)}))`,
    audit_key: `concat('audit/', formatDateTime(${dayOf(ts)}, '%Y/%m/%d'), '/co_bench/${app_id}/', toString(intDiv(n, 20)), '.jsonl.gz')`,
    ...{ received_at_ms: `${ts} + 900`, sent_at_ms: `${ts} + 700` },
    ...{ topic: `'events.accepted.v1@bench'`, partition: '0', offset: 'intDiv(n, 20)' },
  }
}
