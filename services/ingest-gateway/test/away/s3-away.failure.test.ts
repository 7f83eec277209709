import { gunzipSync } from 'node:zlib'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import { openS3AuditStore } from '@tributary/audit-store/s3'
import { sdkEvent } from '@tributary/testing/builders'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import { type FaultyProxy, openFaultyProxy } from '@tributary/testing/engines/faulty-proxy'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { gist, openGatewayOver, patience } from '../gateway-over.ts'

const bucket = 'tributary'
const account = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } }
const requests_max = 4
const refused = { status: 503, error: 'audit_write_failed', again: true }
const taken = { status: 200, error: undefined, again: false }

await describeWithOwnEngine('s3', (s3) => {
  let proxy: FaultyProxy
  let audit: AuditStore
  let gateway: Awaited<ReturnType<typeof openGatewayOver>>
  beforeAll(async () => {
    proxy = await openFaultyProxy(s3.url, { late_ms: 500 })
  })
  afterAll(() => proxy.close())
  beforeEach(async () => {
    proxy.most_at_once = 0
    audit = await openS3AuditStore({ ...account, endpoint: proxy.url, bucket, requests_max })
    gateway = await openGatewayOver({ audit, checks: { object_storage: () => audit.checkHealth() } })
  })
  afterEach(async () => {
    proxy.mode = 'pass'
    await gateway.close()
    await audit.close()
  })

  /** Every route refuses, and of none of it is anything in the log. */
  async function expectRefusals() {
    const before = gateway.records().length
    expect((await gateway.everyRoute()).map(gist)).toEqual([refused, refused, refused])
    expect(gateway.records()).toHaveLength(before)
    await vi.waitFor(async () => expect(await gateway.health('object_storage')).toBe('down'), patience)
  }
  const untilTaken = () =>
    vi.waitFor(async () => {
      expect((await gateway.everyRoute()).map(gist)).toEqual([taken, taken, taken])
      expect(await gateway.health('object_storage')).toBe('ok')
    }, patience)

  it('answers 503 and publishes nothing while S3 is dead, and goes on alone', async () => {
    await untilTaken()
    await s3.kill()
    await expectRefusals()
    await s3.restart()
    await untilTaken()
  })

  it('answers 503 in seconds while S3 hangs or answers errors, and goes on alone', async () => {
    proxy.mode = 'error'
    await expectRefusals()
    proxy.mode = 'pass'
    await untilTaken()
    await s3.pause()
    const started = performance.now()
    try {
      await expectRefusals()
      // A client gives up after half a minute; the store does after 8 s, and the answer of /health comes after 2.
      expect(performance.now() - started).toBeLessThan(60_000)
    } finally {
      s3.resume()
    }
    await untilTaken()
  })

  it('acknowledges a request whose put landed though its answer got lost, and stores it once', async () => {
    const batch = JSON.stringify({ events: [sdkEvent()], sent_at_ms: Date.now() })
    proxy.concerns = ({ method }) => method === 'PUT' && proxy.met.lose_answer === 0
    proxy.met.lose_answer = 0
    proxy.mode = 'lose_answer'
    const answer = await gateway.event(batch)
    proxy.concerns = () => true
    proxy.mode = 'pass'
    expect([gist(answer), proxy.met.lose_answer]).toEqual([taken, 1])
    const line = JSON.parse(gunzipSync((await audit.get(answer.body.audit_key))!).toString())
    expect(line.body).toEqual(JSON.parse(batch))
    const client = new S3Client({ ...account, endpoint: s3.url, forcePathStyle: true })
    const folder = answer.body.audit_key.split('/').slice(0, -1).join('/')
    const { KeyCount } = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: folder }))
    client.destroy()
    expect(KeyCount).toBe(1)
    expect(gateway.records()).toHaveLength(1)
  })

  it('has no more requests to S3 under way than it may; when S3 is slow the others wait, when it hangs all are answered', async () => {
    const burst = (count: number) => Promise.all(Array.from({ length: count }, () => gateway.single(sdkEvent())))
    proxy.mode = 'late'
    const slow = await burst(requests_max * 5)
    expect(slow.map(gist)).toEqual(slow.map(() => taken))
    proxy.mode = 'hang'
    const hanging = await burst(50)
    expect(hanging.map(gist)).toEqual(hanging.map(() => refused))
    proxy.mode = 'pass'
    const later = await burst(50)
    expect(later.map(gist)).toEqual(later.map(() => taken))
    expect(proxy.most_at_once).toBeLessThanOrEqual(requests_max)
    expect(gateway.records()).toHaveLength(slow.length + later.length)
  })
})
