import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { idShape } from '@tributary/contracts/envelope'
import { utcDay } from '@tributary/domain/utc-day'
import type { KnownKey } from '../write/drop-duplicates.ts'
import type { EventLine } from '../write/event-line.ts'
import { installOf } from './drop-erased.ts'

/** An event of an erased install that was received after the mark. */
interface LivingEvent extends Pick<KnownKey, 'app_id' | 'event_key' | 'topic' | 'partition' | 'offset'> {
  install_uuid: string
  received_at_ms: number
}

/** Keys of one statement. */
const keys_max = 10_000
const keyShape = /^\d{1,20}$/

/**
 * The known keys without those that an erased life of these installs wrote, whether they are deleted by now or not: a new
 * life is no duplicate of it (docs/adr/0321). Keys do not tell when their event was received, so its row does.
 */
export async function forgetErasedKeys(
  clickhouse: Pick<Clickhouse, 'query'>,
  rows: readonly EventLine[],
  known: readonly KnownKey[],
  marks: ReadonlyMap<string, number>,
): Promise<readonly KnownKey[]> {
  if (marks.size === 0) return known
  const reborn = new Map(rows.filter((row) => marks.has(installOf(row))).map((row) => [keyName(row), row]))
  const suspects = known.filter((key) => reborn.has(keyName(key)))
  if (suspects.length === 0) return known
  const living = new Set<string>()
  for (let at = 0; at < suspects.length; at += keys_max) {
    const asked = suspects.slice(at, at + keys_max).map((key) => reborn.get(keyName(key))!)
    for (const event of await clickhouse.query<LivingEvent>(statement(asked, marks))) {
      if (event.received_at_ms > (marks.get(installOf(event)) ?? Number.POSITIVE_INFINITY))
        living.add(placedName(event))
    }
  }
  const erased = new Set(suspects.filter((key) => !living.has(placedName(key))))
  return known.filter((key) => !erased.has(key))
}

const keyName = ({ app_id, event_key }: Pick<KnownKey, 'app_id' | 'event_key'>): string => `${app_id}/${event_key}`

const placedName = (key: Pick<KnownKey, 'app_id' | 'event_key' | 'topic' | 'partition' | 'offset'>): string =>
  `${keyName(key)}/${key.topic}/${key.partition}/${key.offset}`

/** An event that was received after a mark is dated after it as well, so the table is read from the day of the mark on. */
function statement(asked: readonly EventLine[], marks: ReadonlyMap<string, number>): string {
  const from_ms = Math.min(...asked.map((row) => marks.get(installOf(row))!))
  const listed = (name: 'app_id' | 'install_uuid') =>
    [...new Set(asked.map((row) => `'${checked(row[name], idShape)}'`))].join(',')
  const keys = asked.map(({ event_key }) => checked(event_key, keyShape))
  return `SELECT app_id, install_uuid, toString(event_key) AS event_key, received_at_ms, topic, partition, offset
    FROM events_raw_v1 AS t
    WHERE app_id IN (${listed('app_id')}) AND install_uuid IN (${listed('install_uuid')}) AND t.day >= '${utcDay(from_ms)}'
      AND received_at_ms > ${from_ms} AND t.event_key IN CAST('[${keys}]', 'Array(UInt64)')`
}

function checked(value: string, shape: RegExp): string {
  if (!shape.test(value)) throw new TypeError('app, install or key has another shape')
  return value
}
