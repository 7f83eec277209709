import type { LogRecord, OutgoingRecord } from '@tributary/broker/broker'
import { deadLetterReasons, deadLetterTopic, type Topic } from '@tributary/contracts/topics'
import { type ReadableLog, readToEnd } from './read-to-end.ts'

/** A dead letter that was not retried. */
export interface OpenLetter {
  partition: number
  offset: number
  /** `too_large` for a letter that is not whole. */
  reason: string
  /** It holds its record. */
  whole: boolean
  dead_ms: number
}

type Headers = LogRecord['headers']

/**
 * The mark behind a letter that was retried: all letters of its partition and reason up to it were. It stands in the
 * dead-letter topic itself (docs/decisions/log.md#a-retried-dead-letter-has-a-marker-record).
 */
export const retriedMark = ({ topic, partition, headers, offset }: LogRecord): OutgoingRecord => ({
  topic,
  partition,
  key: null,
  value: Buffer.alloc(0),
  headers: { reason: reasonOf(headers), retried_until: String(offset + 1) },
})

/** The offset that a mark names, null for a letter: letters say where their record stood. */
const retriedUntil = ({ retried_until, source_offset }: Headers): number | null =>
  retried_until === undefined || source_offset !== undefined ? null : Number(retried_until)

const isWhole = ({ too_large_bytes }: Headers): boolean => too_large_bytes === undefined

const reasonOf = (headers: Headers): string => (isWhole(headers) ? (headers.reason ?? 'unknown') : 'too_large')

/** The letters of a topic that wait, of each the newest copy: after a crash of its consumer a letter may stand there twice. */
export async function findOpenLetters(log: ReadableLog, topic: Topic): Promise<OpenLetter[]> {
  return [...(await readLetters(log, topic)).values()].flatMap((letters) => [...letters.values()])
}

/** How many letters of each reason wait: every reason that the topics still hold, and those that consumers always know. */
export async function countByReason(log: ReadableLog, topics: readonly Topic[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>(deadLetterReasons.map((reason) => [reason, 0]))
  for (const topic of topics) {
    for (const [name, letters] of await readLetters(log, topic)) {
      const reason = name.slice(name.indexOf('/') + 1)
      counts.set(reason, (counts.get(reason) ?? 0) + letters.size)
    }
  }
  return counts
}

/** The letters that wait, by `<partition>/<reason>`; none where all were retried. */
async function readLetters(log: ReadableLog, topic: Topic): Promise<Map<string, Map<string, OpenLetter>>> {
  const open = new Map<string, Map<string, OpenLetter>>()
  await readToEnd(log, deadLetterTopic(topic).name, async (records) => {
    for (const { partition, offset, headers, timestamp_ms: dead_ms } of records) {
      const reason = reasonOf(headers)
      const letters = open.get(`${partition}/${reason}`) ?? new Map<string, OpenLetter>()
      open.set(`${partition}/${reason}`, letters)
      const until = retriedUntil(headers)
      if (until === null)
        letters.set(deathOf(headers, offset), { partition, offset, reason, whole: isWhole(headers), dead_ms })
      else removeBefore(letters, until)
    }
  })
  return open
}

/** The same for the copies of a letter, and for nothing else. */
const deathOf = ({ source_offset, first_seen_ms, attempts }: Headers, offset: number): string =>
  source_offset === undefined ? `own ${offset}` : `${source_offset} ${first_seen_ms} ${attempts}`

function removeBefore(letters: Map<string, OpenLetter>, until: number): void {
  for (const [death, { offset }] of letters) if (offset < until) letters.delete(death)
}
