import { topics } from '@tributary/contracts/topics'
import { kafkaEngine } from '@tributary/service-kit/engines/kafka'
import { postgresEngine } from '@tributary/service-kit/engines/postgres'
import { defineService } from '@tributary/service-kit/service/define-service'
import { attributionAppsEngine, masterKeysEngine } from '@tributary/tenancy/engines'
import { installFinder } from './install-finder.ts'

/** Finds install events and aliases among accepted events, and publishes what they show. */
export const service = defineService({
  name: 'install-finder',
  engines: {
    broker: kafkaEngine({ topics: [topics.installsFound] }),
    postgres: postgresEngine,
    masterKeys: masterKeysEngine,
    attributionApps: attributionAppsEngine,
  },
  consumers: [({ broker, attributionApps }) => installFinder({ broker, apps: attributionApps })],
})
