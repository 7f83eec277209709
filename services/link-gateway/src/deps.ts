import type { Broker } from '@tributary/broker/broker'
import type { DoorDeps } from '@tributary/gateway/open-door'
import type { Geo } from '@tributary/geo/geo'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { Links } from '@tributary/tenancy/attribution/links'

/** What the gateway works with. */
export interface LinkGatewayDeps extends DoorDeps {
  links: Pick<Links, 'find' | 'recall'>
  geo: Geo
  broker: Pick<Broker, 'publish'>
  /** Counts clicks of networks, knows which addresses are blocked, for all gateways together, and shows clicks to who follows them. */
  keyValue: Pick<KeyValue, 'addCapped' | 'append' | 'get' | 'hitWindow' | 'read' | 'remove'>
  /** Partition count of `clicks.recorded.v1`. */
  partitions: number
}
