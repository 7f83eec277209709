import { foundRecord, toWish } from '@tributary/attribution/records'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Wish } from '@tributary/contracts/attribution/found'
import { topics } from '@tributary/contracts/topics'

export interface JobDeps {
  clickhouse: Clickhouse
  broker: Broker
  now: () => number
}

/** An install that a job wishes for. */
export type Wished = Pick<Wish, 'app_id' | 'install_uuid'>

/** Wishes for the installs of one page; durable when this resolves. */
export async function wishFor(broker: Broker, installs: readonly Wished[], reason: Wish['reason']): Promise<void> {
  if (installs.length === 0) return
  const partitions = await broker.partitionCount(topics.installsFound.name)
  await broker.publish(installs.map((install) => foundRecord(toWish(install, reason), partitions)))
}
