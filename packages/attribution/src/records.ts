import type { WholeRecord } from '@tributary/broker/broker'
import { appPartition, installPartition } from '@tributary/broker/partition'
import type { ClickRecorded } from '@tributary/contracts/attribution/click'
import type { Decision } from '@tributary/contracts/attribution/decision'
import type { Found, Wish } from '@tributary/contracts/attribution/found'
import { topics } from '@tributary/contracts/topics'

/** A record of `clicks.recorded.v1`. `partitions`: of the topic, as for the others. */
export const clickRecord = (click: ClickRecorded, partitions: number): WholeRecord => ({
  topic: topics.clicksRecorded.name,
  partition: installPartition(click.app_id, click.click_id, partitions),
  key: `${click.app_id}/${click.click_id}`,
  value: jsonOf(click),
})

/** A record of `installs.found.v1`. */
export const foundRecord = (found: Found, partitions: number): WholeRecord => ({
  topic: topics.installsFound.name,
  partition: appPartition(found.app_id, partitions),
  key: found.app_id,
  value: jsonOf(found),
})

/** Asks to decide an install again. */
export const toWish = (
  { app_id, install_uuid }: Pick<Wish, 'app_id' | 'install_uuid'>,
  reason: Wish['reason'],
): Wish => ({ kind: 'wish', v: 1, app_id, install_uuid, reason })

/** A record of `installs.attributed.v1`. */
export const decisionRecord = (decision: Decision, partitions: number): WholeRecord => ({
  topic: topics.installsAttributed.name,
  partition: installPartition(decision.app_id, decision.install_uuid, partitions),
  key: `${decision.app_id}/${decision.install_uuid}`,
  value: jsonOf(decision),
})

const jsonOf = (value: object): Buffer => Buffer.from(JSON.stringify(value))
