import type { AuditStore } from '@tributary/audit-store/audit-store'
import type { GroupCommit } from '@tributary/audit-store/group-commit'
import type { Broker } from '@tributary/broker/broker'
import type { DoorDeps } from '@tributary/gateway/open-door'
import type { SharedGeo } from '@tributary/geo/geo'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { CostStore } from '@tributary/tables/costs/store-costs'
import type { Credentials } from '@tributary/tenancy/credentials/credentials'
import type { LiveSchemas } from '@tributary/tenancy/postbacks/cv-schemas'
import type { KeyRate } from '@tributary/tenancy/quota/key-rate'
import type { Quota } from '@tributary/tenancy/quota/quota'
import type { JudgeBodies } from './judge/threads/judge-bodies.ts'
import type { KnownInstalls } from './privacy/known-installs.ts'
import type { QueuedErasures } from './privacy/queued-erasures.ts'

/** The dependencies of the gateway. */
export interface GatewayDeps extends DoorDeps {
  credentials: Credentials
  liveSchemas: Pick<LiveSchemas, 'find'>
  /** Holds the objects of backend requests; those of SDK requests go through `groupCommit`. */
  audit: Pick<AuditStore, 'putOnce' | 'get'>
  groupCommit: Pick<GroupCommit, 'append'>
  broker: Pick<Broker, 'publish'>
  costs: CostStore
  /** Counts requests of a key and events of a company, and knows which installs are queued for erasure; shows what comes in to who watches. */
  keyValue: Pick<KeyValue, 'addCapped' | 'reconcile' | 'is_local' | 'get' | 'hitWindow' | 'remove' | 'append' | 'read'>
  /** Countries of senders, and of the devices that backends name. */
  geo: SharedGeo
  /** Partition count of `events.accepted.v1` and `erasures.requested.v1`. */
  partitions: number
}

/** What routes get: the dependencies, and the limits over them. */
export interface RouteDeps extends GatewayDeps {
  quota: Quota
  bodies: JudgeBodies
  keyRate: KeyRate
  erasures: QueuedErasures
  knownInstalls: Pick<KnownInstalls, 'has'>
}
