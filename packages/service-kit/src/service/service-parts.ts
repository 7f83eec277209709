import type { FastifyPluginAsync } from 'fastify'
import type { ConsumerDefinition } from '../consumer/define-consumer.ts'
import type { Gate } from './disk-watch.ts'
import type { Job } from './every.ts'
import type { Health } from './health.ts'

/** The parts of a service. They run in a process of their own, or in standalone with all others. */
export interface ServiceParts<Context> {
  /** Its folder, its compose service and its roles in PostgreSQL and ClickHouse have this name too. */
  name: string
  /** A builder gives null when its consumer has nothing to do with the given settings. */
  consumers?: readonly ((context: Context) => ConsumerDefinition<unknown> | null)[]
  jobs?: readonly Job<Context>[]
  routes?: (context: Context & { health: Health }) => Promise<FastifyPluginAsync>
}

/** Facts about a process with engines of its own, for the parts in it. */
export interface Surroundings {
  /** Closed while the disk of the embedded engines is full. */
  disk?: Gate
  /** Whether ClickHouse is the engine in this process. */
  embedded?: boolean
  /** Identity of this start, which the admin API reports. */
  instance?: string
  /** Called before a replay of the whole audit store. What it gives back is called once all that it holds is filled. */
  beginReplay?: () => () => void
}
