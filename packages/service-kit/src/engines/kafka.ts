import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Broker } from '@tributary/broker/broker'
import { openKafkaBroker } from '@tributary/broker/kafka'
import { deadLetterTopic, type Topic } from '@tributary/contracts/topics'
import { type Service, StartRefused } from '../service/run-service.ts'
import type { Settings } from '../settings/read-settings.ts'
import { EngineRefused, toRefusal } from './engine-refused.ts'

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

/** A broker that is spoken to in another way than it expects hangs up without a word. */
const suspects = 'what TRIBUTARY_KAFKA_BROKERS, TRIBUTARY_KAFKA_TLS and TRIBUTARY_KAFKA_SASL say'

/** The event log on Kafka as the settings say. Throws `StartRefused` when it can't be used. */
export async function openKafka(
  config: KafkaConfig,
  { name, logger, registry, onClose, checks }: Service,
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
    throw toRefusal('Kafka', suspects, error)
  })
  onClose('log', () => broker.close())
  checks.queues = () => broker.checkHealth()
  return broker
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

/** Throws `StartRefused` when one of the topics or its dead-letter topic is missing or has other partitions. */
export async function requireTopics(broker: Pick<Broker, 'partitionCount'>, topics: readonly Topic[]): Promise<void> {
  for (const { name, partitions } of topics.flatMap((topic) => [topic, deadLetterTopic(topic)])) {
    const found = await broker.partitionCount(name).catch((error: Error) => {
      if ('code' in error) throw toRefusal('Kafka', suspects, error) // away
      return null
    })
    if (found === null) throw new EngineRefused(`The topic ${name} is missing.`, 'Run: npx tributary topics apply')
    if (found !== partitions) {
      throw new EngineRefused(
        `The topic ${name} has ${found} partitions, not ${partitions}, and another number would tear installs apart.`,
        'Delete it if it is empty and run: npx tributary topics apply',
      )
    }
  }
}
