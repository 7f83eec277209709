import type { Candidate, Verdict, Windows } from '@tributary/contracts/attribution/verdict'
import type { InstallReceipt, InstallRecord } from '@tributary/contracts/install-record'
import { hour_ms } from '@tributary/contracts/limits'
import { receiptText } from '../receipt/receipt-words.ts'
import { count, layOut, type Section, span, time } from './lines.ts'
import { flagMeanings, lostReasons, methodNames, methodReasons } from './words.ts'

/** Candidates, earlier verdicts and users that a story names; `--json` has all. */
const named_max = 20

/** The record of an install as a story for somebody who buys installs, in lines of at most `columns`. */
export function installStory(record: InstallRecord, columns: number): string {
  const { app_id, install_uuid, installed_at_ms, verdict, rule_version } = record
  return layOut(
    [
      { paragraphs: [`Install ${install_uuid} of app ${app_id}`] },
      {
        paragraphs: [
          installed_at_ms === null ? 'No install event of it has arrived.' : `Installed at ${time(installed_at_ms)}.`,
          ...origin(record),
        ],
      },
      { title: 'Flags', paragraphs: flags(verdict) },
      { title: record.pending ? 'Clicks so far' : 'Clicks that lost', paragraphs: losers(record) },
      { title: 'Windows', paragraphs: record.windows === null ? [] : windows(record.windows) },
      { title: 'What changed', paragraphs: changes(record) },
      { title: 'Users', paragraphs: users(record) },
      { title: 'Receipts', paragraphs: receipts(record) },
      {
        paragraphs: rule_version === null || record.pending ? [] : [`Decided by version ${rule_version} of the rules.`],
      },
    ],
    columns,
  )
}

/** Where it came from, and why. */
function origin(record: InstallRecord): Section['paragraphs'] {
  const { verdict, pending, installed_at_ms, rule_version, candidates } = record
  if (pending)
    return [
      'Not decided yet: the install names a click that Tributary signed, and that click has not arrived. Tributary waits for it until 24 hours after it received the install. Reports leave the install out until then, and count its money as organic.',
    ]
  if (rule_version === null || verdict === null)
    return installed_at_ms === null ? [] : ['Not decided yet: a verdict follows within seconds.']
  const again = verdict.reinstall ? [reinstall(record)] : []
  if (verdict.attribution_type === 'organic') {
    const why =
      candidates.length === 0 ? 'No click matches it.' : 'Clicks match it, but none of them counts; see below.'
    return [`It is organic. ${why}`, ...again]
  }
  if (verdict.attribution_type === 'imported')
    return [
      `${verdict.source} attributed it to ${nameOf(verdict)}, and it was imported. Clicks never change that.`,
      ...again,
    ]
  return [`It came from ${nameOf(verdict)}.`, ...again, ...winner(record, verdict, verdict.attribution_type)]
}

const reinstall = ({ windows }: InstallRecord): string =>
  `It is a reinstall: the same device or user installed the app less than ${count(windows?.reinstall_days ?? 0, 'day')} before. Reports count it apart from new installs.`

function winner(
  record: InstallRecord,
  verdict: NonNullable<InstallRecord['verdict']>,
  method: Candidate['method'],
): Section['paragraphs'] {
  const won = record.candidates.find(({ outcome }) => outcome === 'won')
  const details = [
    `Click ${verdict.click_id} on link ${verdict.link_id}`,
    verdict.ext_click_id === null ? null : `partner's click id: ${verdict.ext_click_id}`,
    ...(['sub1', 'sub2', 'sub3', 'sub4', 'sub5'] as const).map((sub) =>
      verdict[sub] === null ? null : `${sub}: ${verdict[sub]}`,
    ),
    verdict.deep_link ? `deep link: ${verdict.deep_link}` : null,
  ]
  return [
    ...(won === undefined ? [] : [`The click came at ${time(won.clicked_at_ms)}, ${distance(won, record)}.`]),
    methodReasons[method],
    ...details.filter((one) => one !== null).map((text) => ({ indent: 2, text })),
  ]
}

const nameOf = ({ partner, campaign }: Pick<Verdict, 'partner' | 'campaign'>): string =>
  campaign === null ? partner : `${partner}, campaign ${campaign}`

function distance({ clicked_at_ms }: Candidate, { installed_at_ms }: InstallRecord): string {
  const before_ms = (installed_at_ms ?? clicked_at_ms) - clicked_at_ms
  if (before_ms === 0) return 'in the same millisecond as the install'
  return `${span(before_ms)} ${before_ms > 0 ? 'before' : 'after'} the install`
}

function flags(verdict: Verdict | null): Section['paragraphs'] {
  const flagged = verdict?.fraud_flags ?? []
  if (flagged.length === 0) return []
  return [
    ...flagged.map(
      (flag) => `${flag}: ${Object.hasOwn(flagMeanings, flag) ? flagMeanings[flag] : 'a flag of a newer version.'}`,
    ),
    'A flagged install is counted. The attribution report shows it in fraud_flagged.',
  ]
}

function losers(record: InstallRecord): Section['paragraphs'] {
  const lost = record.candidates.filter(({ outcome }) => outcome === 'lost')
  const paragraphs = lost
    .slice(0, named_max)
    .flatMap((one) => [
      `${one.partner ?? 'An unknown click'}, ${distance(one, record)}, matched by ${methodNames[one.method]}`,
      { indent: 2, text: `${record.pending ? 'So far' : 'It lost'}: ${whyLost(one, record)}` },
    ])
  return [...paragraphs, ...more(lost)]
}

function whyLost(lost: Candidate, record: InstallRecord): string {
  const { candidates, pending } = record
  const won = candidates.find(({ outcome }) => outcome === 'won')
  switch (lost.reason) {
    case 'weaker_method':
      if (won) return `the click of ${won.partner} matches by ${methodNames[won.method]}, which is stronger.`
      return pending
        ? 'the install names another click, which is awaited.'
        : 'a forged click id makes the install organic.'
    case 'unknown_click':
      return pending ? 'the click has not arrived yet.' : 'no click with this id arrived within 24 hours.'
    case null:
      return 'a newer version decided.'
    default:
      return Object.hasOwn(lostReasons, lost.reason) ? lostReasons[lost.reason]! : lost.reason
  }
}

function windows({ click_hours, probabilistic_hours, reinstall_days }: Windows): string[] {
  const alike =
    probabilistic_hours === null
      ? 'Clicks are not matched by address in this app.'
      : `A click that matches by address counts for ${span(probabilistic_hours * hour_ms)}.`
  return [
    `A click counts for ${span(click_hours * hour_ms)}. ${alike} The same device or user within ${count(reinstall_days, 'day')} is a reinstall.`,
  ]
}

/** Earlier verdicts, and the one of now. */
function changes({ history, verdict, pending }: InstallRecord): Section['paragraphs'] {
  if (history.length === 0) return []
  const shown = history.slice(-named_max)
  const now = verdict === null ? (pending ? 'waits for a click' : 'no verdict') : verdictText(verdict)
  return [...shown.map((one) => `From ${time(one.decided_at_ms)}: ${verdictText(one)}`), `Now: ${now}`]
}

const verdictText = (verdict: Verdict): string =>
  [
    nameOf(verdict),
    ...(verdict.reinstall ? ['a reinstall'] : []),
    ...(verdict.fraud_flags.length > 0 ? [`flagged ${verdict.fraud_flags.join(', ')}`] : []),
  ].join('; ')

function users({ identities }: InstallRecord): Section['paragraphs'] {
  const shown = identities.slice(0, named_max).map(({ user_id, since_ms }) => `${user_id} since ${time(since_ms)}`)
  return [...shown, ...more(identities)]
}

/** The newest receipts, each with what counts of it. */
function receipts({ receipts: all }: InstallRecord): Section['paragraphs'] {
  const shown = all
    .slice(-named_max)
    .flatMap((one) => [
      receiptName(one),
      { indent: 2, text: `${one.verdict}, judged ${time(one.judged_at_ms)}. ${receiptText(one)} ${countedText(one)}` },
    ])
  return [...shown, ...more(all)]
}

const receiptName = ({ store, product_id, transaction_id }: InstallReceipt): string =>
  [
    store ?? 'no store named',
    ...(product_id === null ? [] : [`product ${product_id}`]),
    ...(transaction_id === null ? [] : [`transaction ${transaction_id}`]),
  ].join(', ')

function countedText({ price_source, verdict }: InstallReceipt): string {
  if (price_source === null) return 'No money of it counts.'
  if (price_source === 'store') return 'The price that the store names counts.'
  return verdict === 'unverified'
    ? 'The amount that the event states counts, unless the app takes valid receipts only.'
    : 'The amount that the event states counts.'
}

const more = (all: readonly unknown[]): string[] =>
  all.length > named_max ? [`... and ${all.length - named_max} more, which --json shows.`] : []
