import type { GroupCommit } from '@tributary/audit-store/group-commit'
import type { Broker } from '@tributary/broker/broker'
import type { DoorDeps } from '@tributary/gateway/open-door'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { KnownKeys } from '@tributary/tenancy/postbacks/postback-keys'
import type { NotifiedApps } from '@tributary/tenancy/stores/notified-apps'
import type { StoreProofs } from './notifications/store-proofs.ts'

/** The engines and bounds that the gateway works with. */
export interface PostbackGatewayDeps extends DoorDeps {
  groupCommit: Pick<GroupCommit, 'append'>
  broker: Pick<Broker, 'publish'>
  /** Counts postbacks of addresses and their bytes, and remembers what was stored, for all gateways together. */
  keyValue: Pick<KeyValue, 'addCapped' | 'get' | 'hitWindow' | 'remove'>
  /** Those that postback-writer judges with. */
  postbackKeys: Pick<KnownKeys, 'current'>
  /** Partition count of `postbacks.received.v1`. */
  partitions: number
  /** Apps that stores notify. */
  notifiedApps: Pick<NotifiedApps, 'find'>
  storeProofs: StoreProofs
  notificationGroups: Pick<GroupCommit, 'append'>
  /** Partition count of `stores.notified.v1`. */
  notification_partitions: number
  /** `TRIBUTARY_PUBLIC_URL`. */
  public_url?: string | undefined
}
