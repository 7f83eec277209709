import { setTimeout as pause } from 'node:timers/promises'
import {
  GetObjectCommand,
  HeadBucketCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type PutObjectCommandInput,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { Semaphore, withTimeout } from 'async-mutex'
import type { Listed, RewritableAuditStore } from '../audit-store.ts'
import { erasedPath, folderPath, isErasedName, objectPath, segmentOf } from '../folder/object-path.ts'
import { openQuickPut, type QuickPut } from './s3-quick-put.ts'
import { eraseObject, removeObject, replaceObject } from './s3-rewrite.ts'

export interface S3AuditStoreOptions {
  bucket: string
  region: string
  /** Address of a server that is not Amazon's; buckets are then part of the path. It must honour `If-None-Match: *` and `If-Match`. */
  endpoint?: string
  /** When absent, the SDK finds them (environment, instance role, ...). */
  credentials?: { accessKeyId: string; secretAccessKey: string }
  /** Requests at the same time; more wait for a free place. */
  requests_max?: number
}

const connect_ms_max = 1000
/** No byte for this long: the server is away. */
const silence_ms_max = 4000
/** Maximum time of one call, with its tries and its wait for a slot. After it the gateway answers 503. */
const call_ms_max = 8000
/** Tries of the SDK, after the quick one. The SDK pauses between them (exponentially, with jitter). */
const tries = 2
/** Maximum pause before the first of them when the server is in trouble, as long as that of the SDK after a first try. */
const pause_ms_max = 100
const requests_max_default = 64
/** A put costs about as much CPU as the rest of a request, so more requests share one. */
const group_rest_ms = 20

const hasStatus = (error: unknown, ...codes: number[]) =>
  error instanceof S3ServiceException && codes.includes(error.$metadata.httpStatusCode ?? 0)

/** Write-once objects in a bucket, named as in the folder store. Rejects when the bucket can't be used. */
export async function openS3AuditStore(options: S3AuditStoreOptions): Promise<RewritableAuditStore> {
  const { bucket, requests_max = requests_max_default } = options
  const client = createClient(options, requests_max)
  const slots = withTimeout(new Semaphore(requests_max), call_ms_max, new Error('object storage is too busy'))
  const under_way = new Set<Promise<unknown>>()
  let closed = false
  let quickPut: QuickPut | null = null

  /** Gives a call `call_ms_max`. `close` waits for its end. */
  async function call<T>(work: (abortSignal: AbortSignal) => Promise<T>): Promise<T> {
    if (closed) throw new Error('the audit store is closed')
    const done = work(AbortSignal.timeout(call_ms_max))
    under_way.add(done)
    return done.finally(() => under_way.delete(done))
  }

  /** Tries the quick put first. Where that does not decide, the SDK puts, with its retries, pauses and errors. */
  async function put(key: string, content: Buffer, abortSignal: AbortSignal): Promise<'created' | 'exists'> {
    const path = objectPath(key)
    const status = quickPut === null ? undefined : await quickPut(path, content, abortSignal)
    if (status === 200) return 'created'
    if (status === 412) return 'exists'
    // The object may have been stored although no answer came, or a fault of the server.
    const mayBeOurs = status === null || (status !== undefined && status >= 500)
    if (mayBeOurs) await pause(Math.random() * pause_ms_max, null, { signal: abortSignal })
    return putBySdk(path, content, abortSignal, mayBeOurs)
  }

  async function putBySdk(path: string, content: Buffer, abortSignal: AbortSignal, mayBeOurs: boolean) {
    const input: PutObjectCommandInput = { Bucket: bucket, Key: path, Body: content, IfNoneMatch: '*' }
    for (let again = tries - 1; ; again -= 1) {
      try {
        await client.send(new PutObjectCommand(input), { abortSignal })
        return 'created'
      } catch (error) {
        // 409: another put of this key is under way, nothing is decided yet.
        if (hasStatus(error, 409) && again > 0) continue
        if (!hasStatus(error, 412)) throw error
        const { attempts = 1 } = (error as S3ServiceException).$metadata
        return (mayBeOurs || attempts > 1) && (await isOurs(path, content, abortSignal)) ? 'created' : 'exists'
      }
    }
  }

  /** Whether an object is the one of an earlier try, whose answer got lost. */
  const isOurs = async (path: string, content: Buffer, abortSignal: AbortSignal) =>
    (await get(path, abortSignal))?.equals(content) ?? false

  async function get(path: string, abortSignal: AbortSignal): Promise<Buffer | null> {
    try {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: path }), { abortSignal })
      return Buffer.from((await Body?.transformToByteArray()) ?? [])
    } catch (error) {
      if (hasStatus(error, 404) && (error as S3ServiceException).name !== 'NoSuchBucket') return null
      throw error
    }
  }

  /** A call that waits for its place first: the client counts a wait for a free socket as a failed connection. */
  const callInPlace = <T>(work: (abortSignal: AbortSignal) => Promise<T>) =>
    call((abortSignal) => slots.runExclusive(() => work(abortSignal)))
  const calls = { client, bucket, call: callInPlace }
  const read = (path: string) => callInPlace((abortSignal) => get(path, abortSignal))

  /** Pages of at most 1000 names, of which one is in memory. */
  async function* list(folder: string): AsyncGenerator<Listed> {
    const prefix = folderPath(folder)
    const keyOf = (path: string) => {
      const segment = segmentOf(path.slice(prefix.length).replace(/\/$/, ''))
      return segment === null ? null : folder + segment
    }
    let token: string | undefined
    do {
      const input = { Bucket: bucket, Prefix: prefix, Delimiter: '/', ContinuationToken: token }
      const page = await callInPlace((abortSignal) => client.send(new ListObjectsV2Command(input), { abortSignal }))
      for (const { Prefix = '' } of page.CommonPrefixes ?? []) {
        const key = keyOf(Prefix)
        if (key !== null) yield { kind: 'folder', folder: `${key}/` }
      }
      for (const { Key = '' } of page.Contents ?? []) {
        const remove = () => removeObject(calls, Key)
        if (isErasedName(Key.slice(prefix.length))) yield { kind: 'erased', remove }
        else yield { kind: 'object', key: keyOf(Key), read: () => read(Key), remove }
      }
      token = page.IsTruncated ? page.NextContinuationToken : undefined
    } while (token !== undefined)
  }

  const checkHealth = () =>
    call(async (abortSignal) => void (await client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal })))

  try {
    quickPut = await call((abortSignal) => openQuickPut(client, bucket, abortSignal))
  } catch (cause) {
    client.destroy()
    throw new Error(`the bucket ${bucket} can't be used: does it exist, and may this service read and write it?`, {
      cause,
    })
  }
  return {
    group_rest_ms,
    putOnce: (key, content) => callInPlace((abortSignal) => put(key, content, abortSignal)),
    get: async (key) => (await read(objectPath(key))) ?? read(erasedPath(key)),
    replace: (key, previous, content) => replaceObject(calls, objectPath(key), previous, content),
    erase: (key, previous, rest) =>
      eraseObject(calls, { path: objectPath(key), rest_path: erasedPath(key) }, previous, rest),
    list,
    checkHealth,
    async close() {
      closed = true
      await Promise.allSettled(under_way)
      client.destroy()
    },
  }
}

function createClient({ region, endpoint, credentials }: S3AuditStoreOptions, requests_max: number) {
  // One more for the health check, which must not wait behind puts.
  const sockets = { keepAlive: true, maxSockets: requests_max + 1 }
  return new S3Client({
    region,
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    ...(credentials === undefined ? {} : { credentials }),
    maxAttempts: tries,
    retryMode: 'standard',
    // Content is checked end to end: by the server when it is put, by the SDK when it is read.
    requestChecksumCalculation: 'WHEN_SUPPORTED',
    responseChecksumValidation: 'WHEN_SUPPORTED',
    requestHandler: new NodeHttpHandler({
      connectionTimeout: connect_ms_max,
      requestTimeout: silence_ms_max,
      throwOnRequestTimeout: true,
      httpAgent: sockets,
      httpsAgent: sockets,
    }),
  })
}
