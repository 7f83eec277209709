import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { createFailedInserts } from '@tributary/clickhouse/failed-inserts'
import { insertRows } from '@tributary/clickhouse/insert-rows'
import { consumers } from '@tributary/contracts/consumers'
import { day_ms, limits } from '@tributary/contracts/limits'
import type { JudgedPostback } from '@tributary/contracts/postback/judged'
import { PostbackReceived } from '@tributary/contracts/postback/received'
import { utcDay } from '@tributary/domain/utc-day'
import {
  type ConsumerDefinition,
  type DecodedRecord,
  defineConsumer,
} from '@tributary/service-kit/consumer/define-consumer'
import { type LastRow, lastRowOf, misfitOfLastRow } from '@tributary/tables/attribution/last-row'
import { judgeAll } from '@tributary/tables/postbacks/judge-received'
import {
  decodedColumns,
  decodedLine,
  type PostbackPlace,
  rawColumns,
  rawLine,
} from '@tributary/tables/postbacks/postback-rows'
import type { KnownKeys } from '@tributary/tenancy/postbacks/postback-keys'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { markBeaten } from './beaten-claims.ts'
import { judgedTotal } from './metrics.ts'
import { hasPostback, hasPostbacksBehind, type WrittenPostback } from './written-postbacks.ts'

/** A postback with its row of `postbacks_raw_v1`. */
interface ReceivedPostback {
  received: PostbackReceived
  place: PostbackPlace
  raw: string
}

interface JudgedRecord extends DecodedRecord<ReceivedPostback> {
  judged: JudgedPostback
}

/** The steps that a crash may follow, in order; see the numbered comments of `handle`. */
export type PostbackStep = 1 | 2 | 3

export interface PostbackWriterDeps {
  clickhouse: Clickhouse
  postbackKeys: Pick<KnownKeys, 'current'>
  registry?: Registry
  logger?: Logger
  now?(): number
  /** Tests have it called after each numbered step; throwing is the crash. */
  crash?(step: PostbackStep): void | Promise<void>
}

/**
 * Judges received postbacks and writes them as they came and as they were decoded. Both tables are sets by log position: a
 * repeated batch is harmless (docs/decisions/postbacks.md#postbacks-are-sets-and-name-no-app). Claims that an earlier one beats are marked
 * afterwards, for reports (docs/decisions/postbacks.md#beaten-claims-are-marked).
 */
export function postbackWriter(deps: PostbackWriterDeps): ConsumerDefinition<ReceivedPostback> {
  const { clickhouse, postbackKeys, registry, logger, now = Date.now, crash = () => {} } = deps
  const failed = createFailedInserts()
  const counted = registry && judgedTotal(registry)

  return defineConsumer({
    ...consumers.postbackWriter,
    bounds: {
      rows_max: limits.postback_batch_rows_max,
      bytes_max: limits.postback_batch_bytes_max,
      measure: ({ raw }) => ({ rows: 1, bytes: Buffer.byteLength(raw) }),
    },
    decode({ partition, offset, value }, source) {
      const received = PostbackReceived.parse(JSON.parse(value.toString()))
      const place = { topic: source, partition, offset }
      return { received, place, raw: rawLine(received, place) }
    },
    async handle({ records, token, attempt, dead, written, state, keep }) {
      const keys = postbackKeys.current()
      const judged = await judgeAll(
        records.map(({ value }) => value.received),
        keys,
      )
      const rows = records.map((one, n) => ({ ...one, judged: judged[n]! }))
      const how = { clickhouse, failed, token, attempt }

      // 1. The postbacks are stored as they came. A crash now: they are inserted again, into a set.
      const raw = { table: 'postbacks_raw_v1', columns: rawColumns }
      const unstored = await insertRows(rows, ({ value }) => value.raw, { ...how, into: raw })
      await crash(1)

      // 2. Their judgements are in the table and its views. A crash now: they are inserted again, into sets; with other keys
      //    than before, what some key could judge stays. The time is that of the record, so that a judgement of the job is newer.
      const decoded = { table: 'postbacks_decoded_v1', columns: decodedColumns }
      const undecoded = await insertRows(
        rows,
        ({ value: { received, place }, judged: one }) =>
          decodedLine({
            ...{ judged: one, place, received_at_ms: received.received_at_ms },
            ...{ judged_at_ms: received.received_at_ms, judged_by: keys.fingerprint },
          }),
        { ...how, into: decoded },
      )
      await crash(2)

      // 3. Claims that others beat are marked. A crash now: they are marked again, in a set.
      await markBeaten(
        clickhouse,
        rows.map(({ value: { place, received }, judged: one }) => ({
          ...{ judged: one, place, received_at_ms: received.received_at_ms },
        })),
      )
      await crash(3)

      failed.forget(token)
      const refused = new Map([...unstored, ...undecoded].map(({ row, err }) => [row, err]))
      for (const [{ record }, err] of refused) {
        const { topic, partition, offset } = record
        logger?.error(
          { err, topic, partition, offset },
          'postback refused by ClickHouse, put into the dead-letter topic',
        )
        dead(record, 'row_refused')
      }
      const taken = rows.filter((row) => !refused.has(row))
      for (const { judged: one } of taken) counted?.inc({ protocol: one.protocol, verdict: one.verdict })
      written(taken.length)
      const last = taken.at(-1)
      keep({ last: last === undefined ? lastRowOf(state) : writtenAs(last) } satisfies LastRow<WrittenPostback>)
    },
    findMisfit: (at) =>
      misfitOfLastRow<WrittenPostback>(at, {
        // Retention may have deleted an old one.
        hasRow: async (last) => isExpiring(last, now()) || hasPostback(clickhouse, last),
        hasRowsBehind: (offset, last) => hasPostbacksBehind(clickhouse, at, offset, last),
      }),
  })
}

/** Retention deletes unproven rows of such days. One more day, since clocks of processes differ. */
const isExpiring = ({ day, proven }: WrittenPostback, now_ms: number): boolean =>
  !proven && day <= utcDay(now_ms - (limits.postback_unproven_days_max - 1) * day_ms)

const writtenAs = ({ value: { received, place }, judged }: JudgedRecord): WrittenPostback => ({
  ...place,
  proven: judged.verdict === 'valid',
  day: utcDay(received.received_at_ms),
})
