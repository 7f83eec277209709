import { openKafkaBroker } from '@tributary/broker/kafka'
import { brokerSuite } from '@tributary/testkit/broker-suite'
import pino from 'pino'
import { describeWithEngine } from '../../../infra/engines/describe-with-engine.ts'

await describeWithEngine('kafka', (kafka) => {
  brokerSuite('the log on Kafka', async () => ({
    open: () =>
      openKafkaBroker({
        brokers: [kafka.url],
        client_id: 'test',
        linger_ms: 2,
        send_bytes_max: 512 * 1024,
        buffer_bytes_max: 32 * 1024 * 1024,
        logger: pino({ level: 'silent' }),
      }),
    dispose: async () => {},
  }))
})
