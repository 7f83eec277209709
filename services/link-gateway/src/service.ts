import { randomBytes } from 'node:crypto'
import { topics } from '@tributary/contracts/topics'
import { geoResource } from '@tributary/service-kit/resources/geo'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { redisEngine } from '@tributary/service-kit/resources/redis'
import { defineService } from '@tributary/service-kit/service/define-service'
import { linksResource, masterKeysResource } from '@tributary/tenancy/resources'
import { linkGateway } from './app.ts'

/** Answers clicks on tracking links: records them, and sends people to the store. */
export const service = defineService({
  name: 'link-gateway',
  resources: {
    broker: kafkaEngine({ topics: [topics.clicksRecorded] }),
    keyValue: redisEngine,
    postgres: postgresEngine,
    masterKeys: masterKeysResource,
    links: linksResource,
    geo: geoResource(),
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
