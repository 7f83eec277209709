import { randomBytes } from 'node:crypto'
import { topics } from '@tributary/contracts/topics'
import { geoEngine } from '@tributary/service-kit/engines/geo'
import { kafkaEngine } from '@tributary/service-kit/engines/kafka'
import { postgresEngine } from '@tributary/service-kit/engines/postgres'
import { redisEngine } from '@tributary/service-kit/engines/redis'
import { defineService } from '@tributary/service-kit/service/define-service'
import { linksEngine, masterKeysEngine } from '@tributary/tenancy/engines'
import { linkGateway } from './app.ts'

/** Answers clicks on tracking links: records them, and sends people to the store. */
export const service = defineService({
  name: 'link-gateway',
  engines: {
    broker: kafkaEngine({ topics: [topics.clicksRecorded] }),
    keyValue: redisEngine,
    postgres: postgresEngine,
    masterKeys: masterKeysEngine,
    links: linksEngine,
    geo: geoEngine(),
  },
  needs: [], // links are remembered for a while, counters fail open, and a redirect does not wait for the log
  settings: ['TRIBUTARY_REQUESTS_IN_FLIGHT_MAX', 'TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX'],
  async routes(context) {
    const { broker, config } = context
    return linkGateway({
      ...context,
      gateway_id: randomBytes(4).toString('hex'),
      partitions: await broker.partitionCount(topics.clicksRecorded.name),
      in_flight: {
        requests_max: config.TRIBUTARY_REQUESTS_IN_FLIGHT_MAX,
        body_bytes_max: config.TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX,
      },
    })
  },
})
