import type { WholeRecord } from '@tributary/broker/broker'
import { installPartition } from '@tributary/broker/partition'
import type { Envelope } from '@tributary/contracts/envelope'
import { topics } from '@tributary/contracts/topics'
import { clickRecord } from '@tributary/tables/attribution/records'
import type { Random } from '../fuzz/random.ts'
import type { History, SimInstall } from './history.ts'

const latency_ms_max = 300

/**
 * The records of a history in an order in which they may arrive: by time, but some clicks come late, and some requests twice.
 * `partitions`: of both topics.
 */
export function recordsOf({ clicks, installs }: History, partitions: number, random: Random): WholeRecord[] {
  const dated = [
    ...clicks
      .filter(({ lost }) => !lost)
      .map(({ click }) => ({ at_ms: click.clicked_at_ms, record: clickRecord(click, partitions), once: false })),
    ...installs.map((install) => ({
      ...{ at_ms: install.at_ms, record: installRecord(install, partitions, random), once: install.once },
    })),
  ]
  const arrivals = dated.flatMap(({ at_ms, record, once }) => [
    { at_ms: at_ms + (random.chance(0.1) ? random.below(48 * 3_600_000) : 0), record },
    ...(random.chance(0.05) && !once ? [{ at_ms: at_ms + random.below(3_600_000), record }] : []),
  ])
  return arrivals.toSorted((a, b) => a.at_ms - b.at_ms).map(({ record }) => record)
}

/** An envelope as a gateway makes it. The phone's clock is off by `skew_ms` in all that the phone says. */
function installRecord(install: SimInstall, partitions: number, random: Random): WholeRecord {
  const { app, install_uuid, at_ms, person, source, skew_ms, props } = install
  const sdk = source === 'sdk'
  const waited_ms = random.below(latency_ms_max)
  const id = app.platform === 'android' ? { gaid: person.device_id } : { idfa: person.device_id }
  const event = {
    ...{ event_id: `install-${install_uuid}`, event_name: 'app_install', props },
    event_ts_ms: sdk ? at_ms + skew_ms : at_ms,
    device: { os: app.platform, os_version: `${person.os_major}.1`, model: person.model, ...id },
  }
  const envelope: Envelope = {
    ...{ v: 1, company_id: app.company_id, app_id: app.app_id, platform: app.platform, source, install_uuid },
    ...{ received_at_ms: at_ms + waited_ms, ...(sdk && { sent_at_ms: at_ms + skew_ms + waited_ms }) },
    ...{ ip: sdk ? person.ip : '203.113.1.1', user_agent: '', sdk: '', sdk_platform: '', audit_key: 'simulated' },
    events: [event],
  }
  return {
    topic: topics.eventsAccepted.name,
    partition: installPartition(app.app_id, install_uuid, partitions),
    key: `${app.app_id}/${install_uuid}`,
    value: Buffer.from(JSON.stringify(envelope)),
  }
}
