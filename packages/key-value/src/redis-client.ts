import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, Redis, type RedisOptions, ReplyError } from 'ioredis'

/** A counter costs one round trip. A Redis that takes longer counts as away, and the gateway decides what that means. */
const connect_ms_max = 2000
const command_ms_max = 1000
/** Maximum time of connecting, with the first commands of the client. */
const open_ms_max = 3000
const reconnect_first_ms = 50
const reconnect_most_ms = 2000
const slots_refresh_ms = 5000

export interface RedisClientOptions {
  /** `redis://` or, with TLS, `rediss://`; user, password and database as usual; nodes of a cluster by comma. */
  url: string
  logger: { warn(fields: object, message: string): void }
}

const reconnectAfter = (tries: number) => Math.min(reconnect_most_ms, reconnect_first_ms * 2 ** Math.min(tries, 10))

// The package has no export of its own for the class, and importers differ in what they make of its default.
const { default: StandaloneConnector }: typeof import('ioredis/built/connectors/StandaloneConnector.js') =
  createRequire(import.meta.url)('ioredis/built/connectors/StandaloneConnector.js')

/**
 * Makes sockets that may fail more than once, as with TLS: the client itself listens for one error, and a second one would end
 * the process.
 */
export class RedisConnector extends StandaloneConnector {
  constructor(options: unknown) {
    super(options as ConstructorParameters<typeof StandaloneConnector>[0])
  }

  override async connect(...emitter: Parameters<InstanceType<typeof StandaloneConnector>['connect']>) {
    const stream = await super.connect(...emitter)
    return stream.on('error', () => {})
  }
}

/**
 * Nothing waits while Redis is away, and nothing that was cut off is sent again: it may have been counted. Commands of one turn
 * of the event loop are written at once: a write for each took a quarter of the CPU of a redirect.
 */
const options: RedisOptions = {
  Connector: RedisConnector,
  lazyConnect: true,
  connectTimeout: connect_ms_max,
  commandTimeout: command_ms_max,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableAutoPipelining: true,
  retryStrategy: reconnectAfter,
}

/**
 * A client of one Redis, or of the cluster when the address names several nodes. Rejects only for errors that never pass
 * (a wrong password, a missing right). A Redis that is away is logged, and the client reconnects by itself.
 */
export async function openRedisClient({ url, logger }: RedisClientOptions): Promise<Redis | Cluster> {
  const nodes = url.split(',').map((one) => new URL(one.trim()))
  const client = nodes.length === 1 ? new Redis(nodes[0]!.href, options) : clusterOf(nodes)
  let refused: Error | undefined
  const onError = (err: Error) => {
    // `connect` itself only rejects with "connection is closed".
    if (isForGood(err)) refused = err
    logger.warn(loggable(err), 'redis connection failed')
  }
  client.on('error', onError)
  client.on('node error', onError)
  const ready = client.connect().then(() => pingAll(client))
  const late = new AbortController()
  try {
    await Promise.race([ready, sleep(open_ms_max, null, { signal: late.signal }).then(() => tooLate(ready))])
  } catch (err) {
    if (isForGood(err)) refused = err as Error
    if (refused !== undefined) {
      client.disconnect()
      throw refused
    }
    logger.warn(loggable(err as Error), 'redis is away')
  } finally {
    late.abort()
  }
  return client
}

/** Errors of the client carry what a log must not hold: the command with the password, whole certificates. */
const loggable = ({ message, code }: NodeJS.ErrnoException) => ({ said: message, code })

/** Connects to every node of a cluster: the client refuses commands while it connects. */
const pingAll = (client: Redis | Cluster) =>
  Promise.all((client instanceof Cluster ? client.nodes('master') : [client]).map((node) => node.ping()))

function tooLate(ready: Promise<unknown>): never {
  ready.catch(() => {}) // nobody waits for it any more
  throw new Error(`no answer in ${open_ms_max} ms`)
}

const isForGood = (error: unknown): boolean =>
  error instanceof ReplyError && /^(WRONGPASS|NOAUTH|NOPERM)\b/.test((error as Error).message)

function clusterOf(nodes: readonly URL[]): Cluster {
  const { username, password, protocol } = nodes[0]!
  return new Cluster(
    nodes.map(({ hostname, port }) => ({ host: hostname, port: Number(port || 6379) })),
    {
      lazyConnect: true,
      enableOfflineQueue: false,
      // Certificates are made out to names: the client must not make addresses of them.
      ...(protocol === 'rediss:' && { dnsLookup: (name, done) => done(null, name) }),
      clusterRetryStrategy: reconnectAfter,
      slotsRefreshTimeout: connect_ms_max,
      slotsRefreshInterval: slots_refresh_ms,
      // 0: a call that was cut off by a failover is not sent again.
      retryDelayOnFailover: 0,
      redisOptions: {
        ...options,
        ...(username !== '' && { username: decodeURIComponent(username) }),
        ...(password !== '' && { password: decodeURIComponent(password) }),
        ...(protocol === 'rediss:' && { tls: {} }),
      },
    },
  )
}
