import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import kafkajs from 'kafkajs'
import { fillFolder } from '../data/template.ts'
import type { Launch, Recipe } from '../engine.ts'
import { freePorts, probePort } from '../ports.ts'
import { installJava, javaArguments } from './java.ts'

const version = '4.3.1'
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tributary</groupId><artifactId>test-kafka</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${version}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`

/** One node as broker and controller. It starts groups at once and creates no topics automatically. */
const settings = (port: number, controller: number): Record<string, string> => ({
  'node.id': '1',
  'process.roles': 'broker,controller',
  'controller.quorum.voters': `1@127.0.0.1:${controller}`,
  'controller.listener.names': 'CONTROLLER',
  'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
  'inter.broker.listener.name': 'PLAINTEXT',
  'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
  'offsets.topic.replication.factor': '1',
  'offsets.topic.num.partitions': '4',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
  'group.initial.rebalance.delay.ms': '0',
  'auto.create.topics.enable': 'false',
  // After kill -9 the node waits until its old session expires; 9 seconds by default.
  'broker.session.timeout.ms': '1000',
  'broker.heartbeat.interval.ms': '250',
})

/** Apache Kafka in KRaft mode, from Maven Central. */
export const kafka: Recipe = {
  name: 'kafka',
  variable: 'TRIBUTARY_TEST_KAFKA_URL',
  container: {
    image: `apache/kafka:${version}`,
    port: null,
    environment: (port) => {
      const inside = { ...settings(port, 9093), listeners: `PLAINTEXT://:${port},CONTROLLER://:9093` }
      const variable = (key: string) => `KAFKA_${key.replaceAll('.', '_').toUpperCase()}`
      return Object.fromEntries(Object.entries(inside).map(([key, value]) => [variable(key), value]))
    },
    url: (host, port) => `${host}:${port}`,
  },
  install: () => installJava({ name: 'kafka', pom, launch: kafkaWith({}).launch }),
  launch: (dir) => kafkaWith({}).launch(dir),
}

/** Settings of a node in addition to its plain listener. */
interface KafkaExtras {
  /** `host:port` by security protocol, as sent to clients. */
  listeners: Record<string, string>
  properties: Record<string, string>
  /** Further arguments of `StorageTool format`. */
  format: string[]
  /** Its place in a cluster. Node 1 is the controller. Without it the node is alone. */
  node?: { id: number; controller_port: number }
}

/** Kafka with listeners for clients that authenticate. Its `url` is the plain listener. */
export const kafkaWith = (extras: Partial<KafkaExtras>): Recipe => ({
  ...kafka,
  launch: (dir) => launch(dir, { listeners: {}, properties: {}, format: [], ...extras }),
})

async function launch(dir: string, extras: KafkaExtras): Promise<Launch> {
  const [port = 0, free = 0] = await freePorts(2)
  const { id, controller_port } = extras.node ?? { id: 1, controller_port: free }
  const roles = id === 1 ? 'broker,controller' : 'broker'
  const plain = settings(port, controller_port)
  const controller = id === 1 ? `,CONTROLLER://127.0.0.1:${controller_port}` : ''
  const more = Object.entries(extras.listeners).map(([protocol, address]) => `,${protocol}://${address}`)
  const protocols = Object.keys(extras.listeners).map((protocol) => `,${protocol}:${protocol}`)
  const properties = {
    ...plain,
    'node.id': String(id),
    'process.roles': roles,
    listeners: `PLAINTEXT://127.0.0.1:${port}${controller}${more.join('')}`,
    'advertised.listeners': plain['advertised.listeners'] + more.join(''),
    'listener.security.protocol.map': plain['listener.security.protocol.map'] + protocols.join(''),
    ...extras.properties,
  }
  const file = join(dir, 'server.properties')
  const data_dir = join(dir, 'data')
  const java = javaArguments({ name: 'kafka', pom })
  const write = (into: string) => {
    const lines = Object.entries({ ...properties, 'log.dirs': into }).map((entry) => entry.join('='))
    return writeFile(file, lines.join('\n'))
  }
  const format = async (into: string) => {
    await write(into)
    const words = ['kafka.tools.StorageTool', 'format', '-t', 'AAAAAAAAQACAAAAAAAAAAA', '-c', file, ...extras.format]
    await promisify(execFile)('java', [...java, ...words])
  }
  // It names the node and the cluster, which are the same in all tests.
  if (extras.format.length > 0) await format(data_dir)
  else {
    await mkdir(data_dir)
    await fillFolder(`kafka-${id}`, data_dir, format)
  }
  await write(data_dir)
  return {
    command: 'java',
    args: ['-Xmx512m', ...java, 'kafka.Kafka', file],
    url: `127.0.0.1:${port}`,
    async probe() {
      // Kafka opens them one after the other.
      const others = Object.values(extras.listeners).map((address) => Number(address.split(':').at(-1)))
      await Promise.all(others.map(probePort))
      await probeBroker(port)
    },
  }
}

/** Rejects unless a broker answers. An open port may be that of another program, and a busy JVM may take its time for the first answer. */
async function probeBroker(port: number): Promise<void> {
  await probePort(port)
  const retry = { retries: 0 }
  const admin = new kafkajs.Kafka({ brokers: [`127.0.0.1:${port}`], retry, logLevel: kafkajs.logLevel.NOTHING }).admin()
  try {
    await admin.connect()
    await admin.describeCluster()
  } finally {
    await admin.disconnect()
  }
}
