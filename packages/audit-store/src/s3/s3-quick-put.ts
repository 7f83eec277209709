import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { crc32 } from 'node:zlib'
import { HeadBucketCommand, type S3Client } from '@aws-sdk/client-s3'
import { SignatureV4 } from '@smithy/signature-v4'

/** One try to put an object that must not exist yet: the HTTP status, or null when there was no answer. */
export type QuickPut = (path: string, content: Buffer, abortSignal: AbortSignal) => Promise<number | null>

/** The address to which the SDK sends requests for the bucket, by its settings and its rules for endpoints. */
interface BucketAddress {
  protocol: string
  hostname: string
  port?: number
  /** `/` or, where the bucket is part of the path, `/BUCKET`. */
  path: string
}

/** Others (ARNs of access points, directory buckets) have signatures or hosts of their own: the SDK puts there. */
const plainBucket = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$(?<!--x-s3)/

/**
 * Puts past the layers of the SDK, which cost as much as all the rest of a put, with the parts of it that count: its
 * credentials, clock, signature and HTTP client. Null for a bucket that needs more. It never retries: the SDK does that.
 * Rejects when the bucket can't be used.
 */
export async function openQuickPut(
  client: S3Client,
  bucket: string,
  abortSignal: AbortSignal,
): Promise<QuickPut | null> {
  const { protocol, hostname, port, path: root } = await findAddress(client, bucket, abortSignal)
  if (!plainBucket.test(bucket)) return null
  const { config } = client
  const signer = new SignatureV4({
    ...{ service: 's3', region: config.region, credentials: config.credentials, sha256: config.sha256 },
    ...{ uriEscapePath: false, applyChecksum: false },
  })
  const server = { method: 'PUT', protocol, hostname, ...(port === undefined ? {} : { port }), query: {} }
  const host = port === undefined ? hostname : `${hostname}:${port}`
  const folder = root.replace(/\/$/, '')

  return async (path, content, abortSignal) => {
    try {
      const headers = { host, ...headersOf(content) }
      const request = { ...server, path: `${folder}/${encodePath(path)}`, headers, body: content }
      const signingDate = new Date(Date.now() + config.systemClockOffset)
      const signed = await signer.sign(request, { signingDate })
      const { response } = await config.requestHandler.handle(signed as Handled, { abortSignal })
      const { statusCode, body } = response as { statusCode: number; body: IncomingMessage }
      // Only the status counts: a connection that breaks after it does no harm.
      body.on('error', () => {}).resume()
      return statusCode
    } catch {
      return null
    }
  }
}

type Handled = Parameters<S3Client['config']['requestHandler']['handle']>[0]

/** Requests the bucket's head, and notes where the SDK sends that. */
async function findAddress(client: S3Client, bucket: string, abortSignal: AbortSignal): Promise<BucketAddress> {
  const command = new HeadBucketCommand({ Bucket: bucket })
  let found: BucketAddress | undefined
  command.middlewareStack.add(
    (next) => (args) => {
      const { protocol, hostname, port, path } = args.request as BucketAddress
      found = { protocol, hostname, path, ...(port === undefined ? {} : { port }) }
      return next(args)
    },
    { step: 'build' },
  )
  await client.send(command, { abortSignal })
  return found!
}

/** The headers that the SDK sends too: S3 checks the content against both sums. */
function headersOf(content: Buffer) {
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(content))
  return {
    'content-length': String(content.length),
    'content-type': 'application/octet-stream',
    'if-none-match': '*',
    'x-amz-checksum-crc32': checksum.toString('base64'),
    'x-amz-content-sha256': hash('sha256', content),
  }
}

/** Paths of `objectPath`, in which `!'()*` don't occur. */
const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/')
