import { postbackIdentity } from '@tributary/audited/missing-postbacks'
import type { Broker } from '@tributary/broker/broker'
import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import { PostbackReceived } from '@tributary/contracts/postback/received'
import { deadLetterTopic, type Topic, topics } from '@tributary/contracts/topics'
import { readToEnd } from '@tributary/service-kit/dead-letters/read-to-end'
import type { Pause } from '@tributary/service-kit/service/pauses'

/** Names of what lies in the dead-letter topics: it is missing in the tables, and known to be. */
export interface DeadNames {
  events(): Promise<ReadonlySet<string>>
  clicks(): Promise<ReadonlySet<string>>
  postbacks(): Promise<ReadonlySet<string>>
}

interface NamedEvent {
  app_id: string
  install_uuid: string
  event_id: unknown
}

export const eventName = ({ app_id, install_uuid, event_id }: NamedEvent): string =>
  `${app_id}/${install_uuid}/${event_id}`

/** Reads each topic when something is missing for the first time, and no second time. */
export function deadNames(broker: Pick<Broker, 'consume' | 'groupOffsets'>, pause: Pause): DeadNames {
  const once = (topic: Topic, namesOf: (value: Buffer) => string[]) => {
    let names: Promise<ReadonlySet<string>> | null = null
    return () => {
      names ??= readNames(broker, pause, topic, namesOf)
      return names
    }
  }
  return {
    events: once(topics.eventsAccepted, (value) => {
      const { app_id, install_uuid, events } = decodeEnvelope(value)
      return events.map(({ event_id }) => eventName({ app_id, install_uuid, event_id }))
    }),
    clicks: once(topics.clicksRecorded, (value) => [JSON.parse(value.toString()).click_id]),
    postbacks: once(topics.postbacksReceived, (value) => [
      postbackIdentity(PostbackReceived.parse(JSON.parse(value.toString()))),
    ]),
  }
}

async function readNames(
  broker: Pick<Broker, 'consume' | 'groupOffsets'>,
  pause: Pause,
  topic: Topic,
  namesOf: (value: Buffer) => string[],
): Promise<ReadonlySet<string>> {
  const names = new Set<string>()
  await readToEnd(broker, deadLetterTopic(topic).name, async (letters) => {
    for (const { value } of letters) {
      await pause()
      try {
        for (const name of namesOf(value)) names.add(name)
      } catch {
        // A mark, or a record that nobody can read: it names nothing.
      }
    }
  })
  return names
}
