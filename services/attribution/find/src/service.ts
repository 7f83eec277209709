import { topics } from '@tributary/contracts/topics'
import { erasedRecordsEngine } from '@tributary/erasure/erased-records'
import { kafkaEngine } from '@tributary/service-kit/engines/kafka'
import { postgresEngine } from '@tributary/service-kit/engines/postgres'
import { defineService } from '@tributary/service-kit/service/define-service'
import { appsWithSecretsEngine, masterKeysEngine } from '@tributary/tenancy/engines'
import { installFinder } from './install-finder.ts'

/** Finds install events and aliases among accepted events, and publishes what they show. */
export const service = defineService({
  name: 'install-finder',
  engines: {
    broker: kafkaEngine({ topics: [topics.installsFound] }),
    postgres: postgresEngine,
    masterKeys: masterKeysEngine,
    appsWithSecrets: appsWithSecretsEngine,
    erased: erasedRecordsEngine,
  },
  consumers: [({ broker, appsWithSecrets, erased }) => installFinder({ broker, apps: appsWithSecrets, erased })],
})
