import { type ChildProcess, fork } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import { openFolderAuditStore } from '@tributary/audit-store/folder'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import { PostbackReceived } from '@tributary/contracts/postback/received'
import { topics } from '@tributary/contracts/topics'
import { expect, it, onTestFinished } from 'vitest'
import { skanBody } from './gateway.ts'
import type { Order } from './gateway-process.ts'

const dirOf = () => {
  const dir = mkdtempSync(join(tmpdir(), 'tributary-postback-kill-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

interface Running {
  child: ChildProcess
  port: number
}

async function start(order: Order): Promise<Running> {
  const child = fork(join(import.meta.dirname, 'gateway-process.ts'), [])
  onTestFinished(() => void child.kill('SIGKILL'))
  child.send(order)
  const [port] = (await once(child, 'message')) as [number]
  return { child, port }
}

async function kill({ child }: Running) {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** The status, or null without an answer. Each address is limited, so each time it is another. */
async function send({ port }: Running, body: string): Promise<number | null> {
  const ip = `192.0.${Math.floor(Math.random() * 256)}.${Math.floor(Math.random() * 256)}`
  const url = `http://127.0.0.1:${port}/skan-postback`
  const asked = fetch(url, { method: 'POST', body, headers: { 'x-forwarded-for': ip } })
  return asked.then(
    async (answer) => {
      await answer.arrayBuffer()
      return answer.status
    },
    () => null,
  )
}

async function* objectsBelow(store: AuditStore, folder: string): AsyncGenerator<Buffer> {
  for await (const found of store.list(folder)) {
    if (found.kind === 'folder') yield* objectsBelow(store, found.folder)
    else if (found.kind === 'object') yield (await found.read()) ?? Buffer.alloc(0)
  }
}

/** The bodies in the audit store and on the log of a gateway that has ended. */
async function stored(dir: string) {
  const store = await openFolderAuditStore({ dir: join(dir, 'audit') })
  const objects = await Array.fromAsync(objectsBelow(store, 'postbacks/'))
  await store.close()
  const lines = objects.flatMap((object) => gunzipSync(object).toString().trimEnd().split('\n'))
  const broker = await openEmbeddedBroker({ dir: join(dir, 'log'), now: Date.now, partitions: 2 })
  const { name } = topics.postbacksReceived
  const ends = await broker.groupOffsets('test', name)
  const expected = ends.reduce((sum, { end }) => sum + end, 0)
  const logged: string[] = []
  const consumption = await broker.consume({
    ...{ group: 'test', topic: name, bytes_min: 1, bytes_max: 1e6, wait_ms_max: 10 },
    async onChunk({ records }) {
      for (const { value } of records) logged.push(PostbackReceived.parse(JSON.parse(String(value))).body)
    },
  })
  await expect.poll(() => logged.length, { timeout: 10_000 }).toBe(expected)
  await consumption.close()
  await broker.close()
  return { audited: lines.map((line) => (JSON.parse(line) as { body: string }).body), logged }
}

it('stores a postback whose gateway was killed between the audit store and the log when it is sent again', async () => {
  const dir = dirOf()
  const body = skanBody()
  const hanging = await start({ dir, log_hangs: true })
  const publishing = once(hanging.child, 'message')
  const lost = send(hanging, body)
  await publishing
  await kill(hanging)
  expect(await lost).toBe(null)
  const next = await start({ dir, log_hangs: false })
  expect(await send(next, body)).toBe(200)
  expect(await send(next, body)).toBe(200)
  await kill(next)
  expect(await stored(dir)).toEqual({ audited: [body, body], logged: [body] })
})

it('has every postback that it answered 200 in the audit store and on the log, after kills at random moments', async () => {
  const dir = dirOf()
  const answered = new Set<string>()
  let running: Running | null = null
  let ended = false
  const client = async () => {
    while (!ended) {
      const body = skanBody()
      while (!ended && !answered.has(body)) {
        const status: number | null = running === null ? null : await send(running, body)
        if (status === 200) answered.add(body)
        else await pause(10)
      }
    }
  }
  const clients = Array.from({ length: 8 }, client)
  for (let kills = 0; kills < 3; kills += 1) {
    const started = await start({ dir, log_hangs: false })
    running = started
    const enough = answered.size + randomInt(10, 60)
    await expect.poll(() => answered.size, { timeout: 30_000, interval: 1 }).toBeGreaterThanOrEqual(enough)
    running = null
    await kill(started)
  }
  ended = true
  await Promise.all(clients)
  const { audited, logged } = await stored(dir)
  const missing = (from: readonly string[]) => [...answered].filter((body) => !from.includes(body))
  expect([missing(audited), missing(logged)]).toEqual([[], []])
})
