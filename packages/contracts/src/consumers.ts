import { type Topic, topics } from './topics.ts'

/** Who reads which topic; the name is also the consumer group. */
export interface ConsumerGroup {
  name: string
  topic: Topic
}

/** The one list of consumer groups; `tributary status` shows the lag of each. */
export const consumers = {
  eventWriter: { name: 'event-writer', topic: topics.eventsAccepted },
} as const satisfies Record<string, ConsumerGroup>
