import type { Envelope } from '@tributary/contracts/envelope'
import { findEventFault } from '@tributary/domain/accept/accept-event'
import { faultMessage } from '@tributary/domain/accept/fault-message'
import { moneyOf } from '@tributary/domain/event-row'
import { printable } from '../../output.ts'
import { countOne, type RejectedLine } from '../deliver-batch.ts'
import type { FileLine, SkippedLine } from '../lines.ts'
import { describeSkipped } from '../rejected-totals.ts'
import { Findings } from './findings.ts'
import type { UnknownName } from './first-lines.ts'
import { unknownNames } from './heed.ts'

/** Rejected lines that a dry run names. */
const rejected_lines_max = 100

/** What the service would do with a file; `--dry-run --json` prints it. */
export interface DryRun {
  dry_run: true
  accepted: number
  rejected: number
  /** Lines that a command is not meant to send, by reason. */
  skipped: Record<string, number>
  /** Names are in the order of the file. Duplicates and shared transactions are not taken off. */
  events: { event_name: string; accepted: number; revenue: { currency: string; amount: number }[] }[]
  reasons: { reason: string; field: string | null; lines: number }[]
  /** The first of them. */
  rejected_lines: RejectedLine[]
  unknown_fields: UnknownName[]
  without_revenue: { event_name: string; events: number }[]
}

/** A file as a command reads it. */
export interface Reading {
  lines: AsyncIterable<FileLine | SkippedLine>
  /** Columns that are no field of an event; null where each line names its own fields. */
  unknown_columns: UnknownName[] | null
  source: Envelope['source']
}

/** Reads a whole file by the rules of the gateway, and sends nothing. */
export async function dryRun({ lines, unknown_columns, source }: Reading): Promise<DryRun> {
  const found = new Findings()
  const rejected_lines: RejectedLine[] = []
  const counts = { accepted: 0, rejected: 0 }
  const skipped: Record<string, number> = Object.create(null)
  const events = new Map<string, { accepted: number; micros: Map<string, bigint> }>()
  const reasons = new Map<string, DryRun['reasons'][number]>()
  const reject = (
    { line, text }: { line: number; text: string },
    cause: Pick<RejectedLine, 'reason' | 'field' | 'message'>,
  ) => {
    const { reason, field } = cause
    counts.rejected += 1
    if (rejected_lines.length < rejected_lines_max) rejected_lines.push({ line, ...cause, text })
    const of = reasons.get(`${reason} ${field}`) ?? { reason, field, lines: 0 }
    reasons.set(`${reason} ${field}`, { ...of, lines: of.lines + 1 })
  }
  for await (const line of lines) {
    if ('skipped' in line) {
      countOne(skipped, line.skipped)
      continue
    }
    if ('reason' in line) {
      reject(line, { reason: line.reason, field: null, message: line.message ?? null })
      continue
    }
    const event = JSON.parse(line.event.json)
    const fault = findEventFault(event, source, Date.now())
    if (fault !== null) {
      const { reason, field = null } = fault
      reject(line, { reason, field, message: faultMessage(fault, event) })
      continue
    }
    counts.accepted += 1
    found.add(event)
    const of = events.get(event.event_name) ?? { accepted: 0, micros: new Map<string, bigint>() }
    of.accepted += 1
    const money = moneyOf(event)
    if (money) of.micros.set(money.currency, (of.micros.get(money.currency) ?? 0n) + BigInt(money.revenue_micros))
    events.set(event.event_name, of)
  }
  return {
    dry_run: true,
    ...counts,
    skipped,
    events: [...events].map(([event_name, { accepted, micros }]) => ({
      event_name,
      accepted,
      revenue: [...micros].map(([currency, sum]) => ({ currency, amount: Number(sum) / 1e6 })),
    })),
    reasons: [...reasons.values()].sort((a, b) => b.lines - a.lines),
    rejected_lines,
    unknown_fields: unknown_columns ?? unknownNames(found),
    without_revenue: [...found.without_revenue].map(([event_name, count]) => ({ event_name, events: count })),
  }
}

const rejected_shown = 10

/** A dry run for a person. */
export function describeDryRun({ accepted, rejected, events, reasons, ...more }: DryRun): string {
  const { rejected_lines, skipped, unknown_fields, without_revenue } = more
  const money = (revenue: DryRun['events'][number]['revenue']) =>
    revenue.map(({ currency, amount }) => `  ${amount} ${currency}`).join('')
  const named = (field: string | null) => (field === null ? '' : ` (${printable(field)})`)
  return [
    `Nothing was sent. ${accepted} would be accepted, ${rejected} rejected.`,
    ...events.map((of) => `  ${of.accepted}  ${printable(of.event_name)}${money(of.revenue)}`),
    ...describeSkipped(skipped),
    ...without_revenue.map((of) => `${of.events} ${printable(of.event_name)} have no revenue: they bring no money.`),
    ...unknown_fields.map(({ name, did_you_mean }) => {
      const meant = did_you_mean === null ? '' : ` Did you mean ${did_you_mean}?`
      return `${printable(name)} is no field of an event.${meant}`
    }),
    ...(rejected === 0 ? [] : ['Rejected:']),
    ...reasons.map(({ reason, field, lines }) => `  ${lines}  ${reason}${named(field)}`),
    ...rejected_lines.slice(0, rejected_shown).map(({ line, reason, field, message, text }) => {
      const why = message === null ? '' : ` ${printable(message)}`
      return `  line ${line}: ${reason}${named(field)}:${why} ${printable(text.slice(0, 100))}`
    }),
  ].join('\n')
}
