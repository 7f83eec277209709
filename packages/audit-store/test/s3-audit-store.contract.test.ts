import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { openS3AuditStore } from '@tributary/audit-store/s3'
import { auditStoreSuite } from '@tributary/testkit/audit-store-suite'
import { expect, it, vi } from 'vitest'
import { describeWithEngine, describeWithOwnEngine } from '../../../infra/engines/describe-with-engine.ts'

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
