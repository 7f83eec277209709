import type { Broker } from '@tributary/broker/broker'
import { deadLetterTopic, type Topic } from '@tributary/contracts/topics'
import { recordOfLetter } from '@tributary/service-kit/consumer/dead-letter'
import { findOpenLetters, retriedMark } from '@tributary/service-kit/dead-letters/dead-letters'
import { type ReadableLog, readToEnd } from '@tributary/service-kit/dead-letters/read-to-end'

/** How many records went back to their topic, and how many letters stay because they lack their record. */
export interface Retried {
  retried: number
  too_large: number
}

/**
 * Publishes the records of the letters that wait to their topic again, all or those with `reason`. Letters that die
 * meanwhile are left to the next call, so a record that dies again ends no loop. Publishes no further batch once `lost`
 * has fired.
 *
 * 1. The records are durable in their topic. A crash now: they are published again, and dropped as duplicates.
 * 2. The marks are durable behind the letters. From now on the letters are neither listed nor retried.
 */
export async function retryDeadLetters(
  log: ReadableLog & Pick<Broker, 'publish'>,
  topic: Topic,
  reason: string | undefined,
  lost: AbortSignal,
): Promise<Retried> {
  const letters = (await findOpenLetters(log, topic)).filter((one) => reason === undefined || one.reason === reason)
  const waiting = new Set(letters.filter(({ whole }) => whole).map(placeOf))
  const too_large = letters.length - waiting.size
  if (waiting.size === 0) return { retried: 0, too_large }
  let retried = 0
  await readToEnd(log, deadLetterTopic(topic).name, async (records) => {
    const some = records.filter((record) => waiting.has(placeOf(record)))
    if (some.length === 0) return
    lost.throwIfAborted()
    await log.publish(some.map((letter) => recordOfLetter(topic, letter)))
    const lastOfReason = new Map(some.map((letter) => [letter.headers.reason, letter]))
    await log.publish([...lastOfReason.values()].map(retriedMark))
    for (const letter of some) waiting.delete(placeOf(letter))
    retried += some.length
  })
  return { retried, too_large }
}

const placeOf = ({ partition, offset }: { partition: number; offset: number }): string => `${partition}/${offset}`
