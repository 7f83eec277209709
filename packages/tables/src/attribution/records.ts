import type { WholeRecord } from '@tributary/broker/broker'
import { appPartition, installPartition } from '@tributary/broker/partition'
import type { ClickRecorded } from '@tributary/contracts/attribution/click'
import type { Decision } from '@tributary/contracts/attribution/decision'
import type { Fact, Tick } from '@tributary/contracts/attribution/found'
import { topics } from '@tributary/contracts/topics'

/** A record of `clicks.recorded.v1`. `partitions`: of the topic, as for the others. */
export const clickRecord = (click: ClickRecorded, partitions: number): WholeRecord => ({
  topic: topics.clicksRecorded.name,
  partition: installPartition(click.app_id, click.click_id, partitions),
  key: `${click.app_id}/${click.click_id}`,
  value: jsonOf(click),
})

/** A record of `installs.found.v1`. */
export const foundRecord = (fact: Fact, partitions: number): WholeRecord => ({
  topic: topics.installsFound.name,
  partition: appPartition(fact.app_id, partitions),
  key: fact.app_id,
  value: jsonOf(fact),
})

/** A record of `installs.found.v1` that begins a batch of a partition. */
export const tickRecord = (partition: number): WholeRecord => ({
  topic: topics.installsFound.name,
  ...{ partition, key: null },
  value: jsonOf({ kind: 'tick', v: 1 } satisfies Tick),
})

/** A record of `installs.attributed.v1`. */
export const decisionRecord = (decision: Decision, partitions: number): WholeRecord => ({
  topic: topics.installsAttributed.name,
  partition: installPartition(decision.app_id, decision.install_uuid, partitions),
  key: `${decision.app_id}/${decision.install_uuid}`,
  value: jsonOf(decision),
})

const jsonOf = (value: object): Buffer => Buffer.from(JSON.stringify(value))
