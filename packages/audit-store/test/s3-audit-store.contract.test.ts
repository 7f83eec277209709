import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  CreateBucketCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { openS3AuditStore } from '@tributary/audit-store/s3'
import { describeWithEngine, describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import { auditStoreSuite } from '@tributary/testing/suites/audit-store-suite'
import { expect, it, onTestFinished, vi } from 'vitest'

const account = {
  region: 'us-east-1',
  credentials: {
    accessKeyId: process.env.TRIBUTARY_TEST_S3_ACCESS_KEY ?? 'test',
    secretAccessKey: process.env.TRIBUTARY_TEST_S3_SECRET_KEY ?? 'test',
  },
}

async function makeBucket(endpoint: string): Promise<string> {
  const bucket = `audit-${randomUUID()}`
  const client = new S3Client({ ...account, endpoint, forcePathStyle: true })
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  client.destroy()
  return bucket
}

/** Forwards everything, and cuts the connection instead of answering to the first put. */
async function loseFirstAnswers(url: string) {
  let lost = 0
  const server = createServer((incoming, answer) => {
    const { method, headers, url: path } = incoming
    const outgoing = request(new URL(path ?? '/', url), { method, headers }, (response) => {
      if (method === 'PUT' && lost === 0) {
        lost += 1
        response.resume().on('end', () => answer.destroy())
        return
      }
      answer.writeHead(response.statusCode ?? 500, response.headers)
      response.pipe(answer)
    })
    incoming.pipe(outgoing)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, lost: () => lost, close: () => server.close() }
}

interface SeenPut {
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
}

/** Answers puts with the given statuses, then with 200, and remembers them; knows every bucket, and no object. */
async function scriptedS3(statuses: number[]) {
  const puts: SeenPut[] = []
  const server = createServer(async (incoming, answer) => {
    const { method, headers, url: path = '' } = incoming
    const body = Buffer.concat(await incoming.toArray())
    if (method === 'PUT') puts.push({ path, headers, body })
    answer.writeHead(method === 'PUT' ? (statuses.shift() ?? 200) : method === 'HEAD' ? 200 : 404).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, puts, close: () => server.close() }
}

/** The signature that AWS Signature Version 4 gives the headers which the request says are signed. */
function signatureOf({ path, headers }: SeenPut, secret: string): string {
  const [, scope = '', names = ''] = /Credential=[^/]+\/([^,]+), ?SignedHeaders=([^,]+)/.exec(headers.authorization!)!
  const signed = names.split(';').map((name) => `${name}:${headers[name]}\n`)
  const canonical = [
    'PUT',
    path.split('?')[0],
    path.split('?')[1] ?? '',
    signed.join(''),
    names,
    headers['x-amz-content-sha256'],
  ]
  const sha256 = createHash('sha256').update(canonical.join('\n')).digest('hex')
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`)
  return hmac(key, ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256].join('\n')).toString('hex')
}

it('signs and checks a put as the SDK does, with the credentials of a session too', async () => {
  const s3 = await scriptedS3([403])
  const credentials = { accessKeyId: 'AKID', secretAccessKey: 'secret', sessionToken: 'session+token/==' }
  const store = await openS3AuditStore({ region: 'eu-west-3', credentials, endpoint: s3.url, bucket: 'plain.bucket-1' })
  const content = randomBytes(5000)
  expect(await store.putOnce("audit/2026/a b+c=d@e'(f)*g%2F~,ü.json", content)).toBe('created')
  const [quick, sdk] = s3.puts as [SeenPut, SeenPut]
  expect(s3.puts).toHaveLength(2)
  for (const put of [quick, sdk]) {
    expect(put.headers.authorization).toContain(`Signature=${signatureOf(put, 'secret')}`)
    expect(put.headers.authorization).toContain('/eu-west-3/s3/aws4_request')
    expect(put.body.equals(content)).toBe(true)
  }
  expect(quick.path).toBe(sdk.path.split('?')[0])
  const checked = ['host', 'content-length', 'content-type', 'if-none-match', 'x-amz-security-token'] as const
  for (const name of [...checked, 'x-amz-checksum-crc32', 'x-amz-content-sha256']) {
    expect([name, quick.headers[name]]).toEqual([name, sdk.headers[name]])
  }
  await store.close()
  s3.close()
})

it.each([
  ['an object of another', [412], 'exists', 1],
  ['another put under way', [409, 409], 'created', 3],
  ['a server in trouble', [503, 500], 'created', 3],
  ['another put that won meanwhile', [409, 412], 'exists', 2],
  ['a refused try before an object of another', [503, 412], 'exists', 2],
])('answers a put that met %s', async (_what, statuses, outcome, puts) => {
  const s3 = await scriptedS3([...statuses])
  const store = await openS3AuditStore({ ...account, endpoint: s3.url, bucket: 'audit' })
  expect(await store.putOnce('a', Buffer.from('a'))).toBe(outcome)
  expect(s3.puts).toHaveLength(puts)
  await store.close()
  s3.close()
})

it('asks requests of a busy app to share objects for longer than files need: a put costs more', async () => {
  const s3 = await scriptedS3([])
  const store = await openS3AuditStore({ ...account, endpoint: s3.url, bucket: 'audit' })
  expect(store.group_rest_ms).toBe(20)
  await store.close()
  s3.close()
})

it('puts a new version only in the place of the version that it compared', async () => {
  const put: (string | undefined)[] = []
  const server = createServer((incoming, answer) => {
    incoming.resume()
    if (incoming.method === 'GET') return void answer.writeHead(200, { etag: '"read"' }).end('old')
    if (incoming.method === 'PUT') put.push(incoming.headers['if-match'])
    answer.writeHead(incoming.method === 'PUT' ? 412 : 200).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const store = await openS3AuditStore({ ...account, endpoint, bucket: 'audit' })
  expect(await store.replace('a', Buffer.from('old'), Buffer.from('new'))).toBe('changed')
  expect(put).toEqual(['"read"'])
  await store.close()
})

it('gives up on a server that stays in trouble after the tries it promises', async () => {
  const s3 = await scriptedS3(Array.from({ length: 9 }, () => 503))
  const store = await openS3AuditStore({ ...account, endpoint: s3.url, bucket: 'audit' })
  await expect(store.putOnce('a', Buffer.from('a'))).rejects.toThrow()
  expect(s3.puts).toHaveLength(3)
  await store.close()
  s3.close()
})

await describeWithEngine('s3', (s3) => {
  const start = async () => {
    const bucket = await makeBucket(s3.url)
    return { open: () => openS3AuditStore({ ...account, endpoint: s3.url, bucket }), dispose: async () => {} }
  }
  auditStoreSuite('S3', start, { atomic: s3.origin === 'TRIBUTARY_TEST_S3_URL' })

  it('refuses to open without its bucket, and says what to look at', async () => {
    const opening = openS3AuditStore({ ...account, endpoint: s3.url, bucket: `none-${randomUUID()}` })
    await expect(opening).rejects.toThrow(/does it exist/)
  })

  it('says `created` when the answer to its own put got lost, and `exists` when the object is of someone else', async () => {
    const bucket = await makeBucket(s3.url)
    const proxy = await loseFirstAnswers(s3.url)
    const store = await openS3AuditStore({ ...account, endpoint: proxy.url, bucket })
    expect(await store.putOnce('ours', Buffer.from('ours'))).toBe('created')
    expect(await store.putOnce('ours', Buffer.from('other'))).toBe('exists')
    expect(proxy.lost()).toBe(1)
    expect((await store.get('ours'))?.toString()).toBe('ours')
    await store.close()
    proxy.close()
  })

  it('removes every older version of what it rewrites, also where a crash left one', async () => {
    const bucket = await makeBucket(s3.url)
    const client = new S3Client({ ...account, endpoint: s3.url, forcePathStyle: true })
    onTestFinished(() => client.destroy())
    const VersioningConfiguration = { Status: 'Enabled' } as const
    await client.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration }))
    const store = await openS3AuditStore({ ...account, endpoint: s3.url, bucket })
    const versions = async () => {
      const { Versions = [], DeleteMarkers = [] } = await client.send(new ListObjectVersionsCommand({ Bucket: bucket }))
      return [...Versions, ...DeleteMarkers].map(({ Key }) => Key).sort()
    }
    const [first, second, third] = ['first', 'second', 'third'].map((text) => Buffer.from(text))
    await store.putOnce('a', first!)
    await store.putOnce('ab', first!)
    expect(await store.replace('a', first!, second!)).toBe('done')
    expect(await versions()).toEqual(['a', 'ab'])
    // As after a crash behind the put.
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: 'a', Body: third }))
    expect(await versions()).toEqual(['a', 'a', 'ab'])
    expect(await store.replace('a', third!, third!)).toBe('done')
    expect([await versions(), (await store.get('a'))?.toString()]).toEqual([['a', 'ab'], 'third'])
    expect(await store.erase('a', third!, first!)).toBe('done')
    expect([await versions(), (await store.get('a'))?.toString()]).toEqual([
      [expect.stringMatching(/^=e/), 'ab'],
      'first',
    ])
    await store.close()
  })

  it('of two that rewrite the same version at once, one is told that it changed', async () => {
    const bucket = await makeBucket(s3.url)
    const store = await openS3AuditStore({ ...account, endpoint: s3.url, bucket })
    const content = Buffer.from('lines of two installs')
    await store.putOnce('a', content)
    const outcomes = []
    for (const one of ['one', 'other']) outcomes.push(await store.replace('a', content, Buffer.from(one)))
    expect(outcomes).toEqual(['done', 'changed'])
    expect((await store.get('a'))?.toString()).toBe('one')
    await store.close()
  })

  it('lets more puts wait than it makes at the same time', async () => {
    const bucket = await makeBucket(s3.url)
    const store = await openS3AuditStore({ ...account, endpoint: s3.url, bucket, requests_max: 2 })
    const puts = Array.from({ length: 40 }, (_, n) => store.putOnce(`many/${n}`, Buffer.from(`${n}`)))
    expect(new Set(await Promise.all(puts))).toEqual(new Set(['created']))
    await store.close()
  })
})

await describeWithOwnEngine('s3', (s3) => {
  it('rejects in seconds while S3 is silent, never says that it stored what it did not, and goes on alone', async () => {
    const bucket = await makeBucket(s3.url)
    const store = await openS3AuditStore({ ...account, endpoint: s3.url, bucket })
    await s3.pause()
    const started = performance.now()
    await expect(store.putOnce('silent', Buffer.from('a'))).rejects.toThrow()
    expect(performance.now() - started).toBeLessThan(12_000)
    s3.resume()
    await vi.waitFor(() => store.putOnce('back', Buffer.from('b')), { timeout: 30_000, interval: 100 })
    expect((await store.get('back'))?.toString()).toBe('b')
    await store.close()
  })
})
