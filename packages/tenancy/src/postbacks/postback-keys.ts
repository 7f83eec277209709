import { limits } from '@tributary/contracts/limits'
import { applePostbackKeys, type PostbackKeys, withKeySet } from '@tributary/domain/postback/keys'
import type { Resource } from '@tributary/service-kit/resources/resource'
import type { Logger } from 'pino'

/** The keys that postbacks are judged with: Apple's, and those of `TRIBUTARY_AAK_JWKS_URL` as they were last fetched. */
export interface KnownKeys {
  current(): PostbackKeys
  /**
   * Fetches the key set when it is older than `limits.postback_keys_fresh_ms`, or was never fetched. After a failure the
   * keys stay as they are, and the next call fetches again. Never rejects.
   */
  refresh(): Promise<void>
}

export interface PostbackKeysOptions {
  /** Address of a JWK set (RFC 7517); Apple's keys alone when absent. */
  jwks_url: string | undefined
  now(): number
  logger?: Pick<Logger, 'info' | 'warn'>
  /** Apple's keys; tests give their own. */
  pinned?: PostbackKeys
}

/** Known keys that begin as `pinned`, until the first `refresh`. */
export function knownPostbackKeys(options: PostbackKeysOptions): KnownKeys {
  const { jwks_url, now, logger, pinned = applePostbackKeys() } = options
  let keys = pinned
  let fetched_at_ms = Number.NEGATIVE_INFINITY
  return {
    current: () => keys,
    async refresh() {
      if (jwks_url === undefined || Math.abs(now() - fetched_at_ms) < limits.postback_keys_fresh_ms) return
      try {
        const joined = withKeySet(pinned, await fetchKeySet(jwks_url))
        if (joined === null) throw new Error('The answer is no JWK set.')
        if (joined.fingerprint !== keys.fingerprint)
          logger?.info({ kids: [...joined.aak.keys()] }, 'postback keys changed')
        keys = joined
        fetched_at_ms = now()
      } catch (err) {
        logger?.warn({ err }, 'TRIBUTARY_AAK_JWKS_URL could not be fetched; the keys stay as they are')
      }
    },
  }
}

/** No redirect is followed: the keys come from the host of the setting. */
async function fetchKeySet(url: string): Promise<unknown> {
  const signal = AbortSignal.timeout(limits.postback_keys_wait_ms_max)
  const answer = await fetch(url, { redirect: 'error', signal, headers: { accept: 'application/json' } })
  if (!answer.ok) throw new Error(`The key set was answered with ${answer.status}.`)
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length
    if (bytes > limits.postback_keys_bytes_max) throw new Error('The key set is too large.')
    chunks.push(chunk)
  }
  return JSON.parse(Buffer.concat(chunks).toString())
}

/** Known keys for the consumer and the job of one process. A key set that is away stops no start. */
export const postbackKeysResource: Resource<KnownKeys, 'TRIBUTARY_AAK_JWKS_URL' | 'TRIBUTARY_SKAN_TEST_KEY'> = {
  settings: ['TRIBUTARY_AAK_JWKS_URL', 'TRIBUTARY_SKAN_TEST_KEY'],
  required: [],
  async open({ TRIBUTARY_AAK_JWKS_URL: jwks_url, TRIBUTARY_SKAN_TEST_KEY: test_key }, { now, logger }) {
    const keys = knownPostbackKeys({ jwks_url, now, logger, pinned: applePostbackKeys(test_key) })
    await keys.refresh()
    return keys
  },
}
