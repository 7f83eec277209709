import { topics } from '@tributary/contracts/topics'
import { erasedRecordsResource } from '@tributary/erasure/erased-records'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { defineService } from '@tributary/service-kit/service/define-service'
import { appsWithSecretsResource, masterKeysResource } from '@tributary/tenancy/resources'
import { installFinder } from './install-finder.ts'

/** Finds install events and aliases among accepted events, and publishes what they show. */
export const service = defineService({
  name: 'install-finder',
  resources: {
    broker: kafkaEngine({ topics: [topics.installsFound] }),
    postgres: postgresEngine,
    masterKeys: masterKeysResource,
    appsWithSecrets: appsWithSecretsResource,
    erased: erasedRecordsResource,
  },
  consumers: [({ broker, appsWithSecrets, erased }) => installFinder({ broker, apps: appsWithSecrets, erased })],
})
