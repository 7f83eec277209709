import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Broker } from '@tributary/broker/broker'
import { openKafkaBroker } from '@tributary/broker/kafka'
import type { Topic } from '@tributary/contracts/topics'
import type { Service } from '../service/run-service.ts'
import type { Settings } from '../settings/read-settings.ts'
import { StartRefused } from '../settings/start-refused.ts'
import { traceBroker } from '../traces/trace-log.ts'
import { toRefusal } from './engine-refused.ts'
import { kafkaSuspects, requireTopics } from './require-topics.ts'
import type { Resource } from './resource.ts'

export const kafkaSettings = [
  'TRIBUTARY_KAFKA_BROKERS',
  'TRIBUTARY_KAFKA_TLS',
  'TRIBUTARY_KAFKA_TLS_CA_FILE',
  'TRIBUTARY_KAFKA_SASL',
  'TRIBUTARY_KAFKA_USERNAME',
  'TRIBUTARY_KAFKA_PASSWORD',
  'TRIBUTARY_KAFKA_LINGER_MS',
  'TRIBUTARY_KAFKA_SEND_BYTES_MAX',
  'TRIBUTARY_KAFKA_BUFFER_BYTES_MAX',
  'TRIBUTARY_KAFKA_REPLICATION_FACTOR',
  'TRIBUTARY_KAFKA_MIN_INSYNC_REPLICAS',
] as const
type KafkaConfig = Settings<(typeof kafkaSettings)[number], 'TRIBUTARY_KAFKA_BROKERS'>

/** The event log on Kafka as the settings say. Throws `StartRefused` when it can't be used. */
export async function openKafka(
  config: KafkaConfig,
  { name, logger, registry, onClose, checks, traces }: Service,
): Promise<Broker> {
  const broker = await openKafkaBroker({
    brokers: config.TRIBUTARY_KAFKA_BROKERS,
    client_id: `tributary-${name}`,
    tls: tlsOf(config),
    ...saslOf(config),
    linger_ms: config.TRIBUTARY_KAFKA_LINGER_MS,
    send_bytes_max: config.TRIBUTARY_KAFKA_SEND_BYTES_MAX,
    buffer_bytes_max: config.TRIBUTARY_KAFKA_BUFFER_BYTES_MAX,
    replication: {
      replication_factor: config.TRIBUTARY_KAFKA_REPLICATION_FACTOR,
      insync_replicas_min: config.TRIBUTARY_KAFKA_MIN_INSYNC_REPLICAS,
    },
    logger,
    registry,
  }).catch((error: unknown) => {
    throw toRefusal('Kafka', kafkaSuspects, error)
  })
  onClose('log', () => broker.close())
  checks.queues = () => broker.checkHealth()
  return traceBroker(broker, traces)
}

function tlsOf({ TRIBUTARY_KAFKA_TLS: tls, TRIBUTARY_KAFKA_TLS_CA_FILE: file }: KafkaConfig) {
  if (!tls || file === undefined) return tls
  try {
    const ca = readFileSync(file, 'utf8')
    new X509Certificate(ca) // TLS itself takes any text for a list of no authorities
    return { ca }
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const reason = code?.startsWith('ERR_OSSL') ? `${file} is no PEM file of a certificate` : message
    throw new StartRefused(`TRIBUTARY_KAFKA_TLS_CA_FILE: ${reason}.`, { cause })
  }
}

function saslOf(config: KafkaConfig) {
  const { TRIBUTARY_KAFKA_SASL: mechanism } = config
  const { TRIBUTARY_KAFKA_USERNAME: username, TRIBUTARY_KAFKA_PASSWORD: password } = config
  if (mechanism === undefined || username === undefined || password === undefined) return {}
  return { sasl: { mechanism, username, password } }
}

/**
 * The event log on Kafka. `topics`: those that the process publishes to; the start is refused when one of them is not as
 * it must be. The topics of consumers are checked without being named here.
 */
export const kafkaEngine = ({
  topics = [],
}: {
  topics?: readonly Topic[]
} = {}): Resource<Broker, (typeof kafkaSettings)[number], 'TRIBUTARY_KAFKA_BROKERS'> => ({
  binding: 'queues',
  settings: kafkaSettings,
  required: ['TRIBUTARY_KAFKA_BROKERS'],
  async open(config, service) {
    const broker = await openKafka(config, service)
    await requireTopics(broker, topics)
    return broker
  },
})
