import { randomUUID } from 'node:crypto'
import { kafkaSettings, openKafka } from '@tributary/service-kit/resources/kafka'
import { requireTopics } from '@tributary/service-kit/resources/require-topics'
import { readSettings } from '@tributary/service-kit/settings/read-settings'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { kafkaWith } from '@tributary/testing/engines/kafka'
import { startOwnEngine } from '@tributary/testing/engines/own-engine'
import { freePorts } from '@tributary/testing/engines/ports'
import { expect, it, vi } from 'vitest'
import { refusalOf, serviceUnderTest } from '../service/service-under-test.ts'
import { startWithTls } from './start-with-tls.ts'

const username = 'gateway'
const password = 'right%20@p+w$/='
const wrong_password = 'this-is-not-it'
/** A refusal to start is for a person who waits for it. */
const soon = { timeout: 180_000 }

/** Kafka that is called localhost, with a listener for TLS alone and one for TLS with SASL of one user. */
const startTlsKafka = () =>
  startWithTls(async (files) => {
    const [tls_port, sasl_port] = await freePorts(2)
    const addresses = { tls: `localhost:${tls_port}`, sasl: `localhost:${sasl_port}` }
    const scram = ['SCRAM-SHA-256', 'SCRAM-SHA-512']
    const login = (mechanism: string, module: string) => [
      `listener.name.sasl_ssl.${mechanism.toLowerCase()}.sasl.jaas.config`,
      `org.apache.kafka.common.security.${module};`,
    ]
    const recipe = kafkaWith({
      listeners: { SSL: addresses.tls, SASL_SSL: addresses.sasl },
      properties: {
        'ssl.keystore.type': 'PEM',
        'ssl.keystore.location': files.key_and_cert,
        'sasl.enabled.mechanisms': ['PLAIN', ...scram].join(','),
        ...Object.fromEntries([
          login('PLAIN', `plain.PlainLoginModule required user_${username}="${password}"`),
          ...scram.map((mechanism) => login(mechanism, 'scram.ScramLoginModule required')),
        ]),
      },
      format: scram.flatMap((mechanism) => ['--add-scram', `${mechanism}=[name=${username},password=${password}]`]),
    })
    return { ...(await startOwnEngine(recipe)), addresses }
  })

await describeWith('kafka with TLS', startTlsKafka, ({ files, addresses, url }) => {
  const tls = { BROKERS: addresses?.tls, TLS: 'true', TLS_CA_FILE: files?.ca }
  const sasl = { ...tls, BROKERS: addresses?.sasl, USERNAME: username, PASSWORD: password, REPLICATION_FACTOR: '1' }

  async function open(settings: Record<string, string | undefined>) {
    const tested = serviceUnderTest()
    const single = { REPLICATION_FACTOR: '1', MIN_INSYNC_REPLICAS: '1', ...settings }
    const environment = Object.entries(single).map(([name, value]) => [`TRIBUTARY_KAFKA_${name}`, value])
    const config = readSettings(Object.fromEntries(environment), kafkaSettings, ['TRIBUTARY_KAFKA_BROKERS'])
    return { ...tested, opening: openKafka(config, tested.service) }
  }

  it.concurrent.each([
    ['TLS alone', tls],
    ['SASL plain', { ...sasl, SASL: 'plain' }],
    ['SASL scram-sha-256', { ...sasl, SASL: 'scram-sha-256' }],
    ['SASL scram-sha-512', { ...sasl, SASL: 'scram-sha-512' }],
  ])('publishes and consumes over %s', async (_name, settings) => {
    const { opening, logged, close } = await open(settings)
    const broker = await opening
    const topic = `tests.run.${randomUUID()}`
    await broker.applyTopics([{ name: topic, partitions: 1, retention_ms: 3_600_000 }])
    await broker.publish([{ topic, partition: 0, key: null, value: Buffer.from('sealed') }])
    const read: string[] = []
    await broker.consume({
      group: `group-of-${topic}`,
      topic,
      bytes_min: 1,
      bytes_max: 1024 * 1024,
      wait_ms_max: 50,
      async onChunk(chunk) {
        for (const { value } of chunk.records) read.push(value.toString())
        await chunk.commit(chunk.records.at(-1)!.offset + 1)
      },
    })
    await vi.waitFor(() => expect(read).toEqual(['sealed']), { timeout: 180_000 })
    await close()
    expect(logged()).not.toContain(password)
  })

  it.concurrent.each([
    ['a wrong password (plain)', { ...sasl, SASL: 'plain', PASSWORD: wrong_password }, /Invalid username or password/],
    ['a wrong password (SHA-256)', { ...sasl, SASL: 'scram-sha-256', PASSWORD: wrong_password }, /invalid credentials/],
    ['a wrong password (SHA-512)', { ...sasl, SASL: 'scram-sha-512', PASSWORD: wrong_password }, /invalid credentials/],
    ['an authority that did not sign', { ...tls, TLS_CA_FILE: files?.other_ca }, /unable to verify/],
    ['an authority that Node does not know', { ...tls, TLS_CA_FILE: undefined }, /unable to verify/],
    [
      'a name that is not in the certificate',
      { ...tls, BROKERS: addresses?.tls.replace('localhost', '127.0.0.1') },
      /altnames/,
    ],
    ['TLS that is not asked for', { BROKERS: addresses?.tls }, /Closed connection\. .*TRIBUTARY_KAFKA_TLS/],
    ['TLS where there is none', { ...tls, BROKERS: url }, /disconnected before secure/],
    ['SASL where there is none', { ...sasl, SASL: 'plain', BROKERS: addresses?.tls }, /SASL state/],
  ])('refuses to start in one line: %s', soon, async (_name, settings, reason) => {
    const { opening, logged, close } = await open(settings)
    const refusal = await refusalOf(opening)
    await close()
    expect(refusal).toBeInstanceOf(StartRefused)
    expect(refusal.message).toMatch(/^Kafka can't be used: [^\n]+$/)
    expect(refusal.message).toMatch(reason)
    for (const secret of [password, wrong_password]) expect(`${refusal.stack}${logged()}`).not.toContain(secret)
  })

  it.concurrent('refuses to start without the SASL that the broker wants', soon, async () => {
    const { opening, close } = await open({ ...tls, BROKERS: addresses.sasl })
    // Such a broker tells anybody its version, and hangs up at the first question.
    const refusal = await refusalOf(
      opening.then((broker) => requireTopics(broker, [{ name: 'any', partitions: 1, retention_ms: 1 }])),
    )
    await close()
    expect(refusal).toBeInstanceOf(StartRefused)
    expect(refusal.message).toMatch(/^Kafka can't be used: [^\n]+TRIBUTARY_KAFKA_SASL[^\n]+$/)
  })

  it.concurrent.each([
    ['is not there', () => `${files.ca}.gone`, /ENOENT/],
    ['holds no certificate', () => files.key, /no PEM file of a certificate/],
  ])('names an authority file that %s', async (_name, file, reason) => {
    const { opening } = await open({ ...tls, TLS_CA_FILE: file() })
    const refusal = await refusalOf(opening)
    expect(refusal).toBeInstanceOf(StartRefused)
    expect(refusal.message).toMatch(/^TRIBUTARY_KAFKA_TLS_CA_FILE: [^\n]+$/)
    expect(refusal.message).toMatch(reason)
  })
})
