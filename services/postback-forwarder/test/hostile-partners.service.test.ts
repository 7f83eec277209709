import { pipeline, Readable } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { clock_ms, listen, openStage } from './deliver-stage.ts'

const patient = { timeout: 60_000, interval: 20 }

test('partners that reset, hang, flood, redirect, ask for years, break TLS or move their name harm no other one', async () => {
  const stage = await openStage()
  const { owe, start, states, logged, pool } = stage
  const closed = await listen((_request, response) => response.end('inside'), '127.0.0.2')
  let reached = 0
  closed.server.on('connection', () => {
    reached += 1
  })
  const inside = `http://127.0.0.2:${closed.port}/`
  const good = await listen((_request, response) => response.end('ok'))
  const reset = await listen((incoming) => incoming.socket.destroy())
  const hangs = await listen(() => {})
  const slow = await listen((_request, response) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write('x'), 100)
    response.on('close', () => clearInterval(timer))
  })
  let flooded = 0
  const flood = await listen((_request, response) => {
    const parts = function* () {
      for (const part = Buffer.alloc(65_536, 'x'); flooded < 1e9; flooded += part.length) yield part
    }
    pipeline(Readable.from(parts()), response, () => {})
  })
  const redirects = await listen((_request, response) => response.writeHead(302, { location: inside }).end())
  const years = await listen((_request, response) => response.writeHead(429, { 'retry-after': '999999999' }).end())
  const later = await listen((_request, response) => response.writeHead(503, { 'retry-after': '120' }).end())
  const garbage = await listen(() => {})
  garbage.server.on('connection', (socket) => socket.end('no http at all\r\n\r\n'))

  const at = ({ port }: { port: number }, host = '127.0.0.1') => `http://${host}:${port}/p?i={install_uuid}`
  const faulty = { reset, hangs, slow, flood, redirects, years, later, garbage }
  for (const [name, server] of Object.entries(faulty)) await owe(name, at(server), 20)
  await owe('tls', `https://127.0.0.1:${good.port}/`, 20)
  await owe('inside', inside, 20)
  await owe('moving', at(good, 'moving.example'), 20)
  await owe('nowhere', at(good, 'nowhere.example'), 20)
  for (const n of [1, 2, 3, 4, 5]) await owe(`good-${n}`, at(good), 20)

  let looks = 0
  start({
    async resolve(hostname) {
      if (hostname === 'nowhere.example') throw new Error('ENOTFOUND')
      if (hostname !== 'moving.example') return [hostname]
      looks += 1
      return looks === 1 ? ['127.0.0.1'] : ['127.0.0.1', '127.0.0.2']
    },
  })
  await vi.waitFor(
    async () =>
      expect(await states()).toMatchObject(Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`good-${n} delivered`, 20]))),
    patient,
  )
  // Nobody waited for a partner that hangs: the first of those tries end after 10 s.
  expect(logged.filter(({ partner }) => partner === 'hangs')).toEqual([])
  await vi.waitFor(() => {
    const found = Object.fromEntries(logged.map(({ partner, reason, outcome }) => [partner, `${outcome} ${reason}`]))
    expect(found).toMatchObject({
      ...{ reset: 'retry connection', hangs: 'retry timeout', slow: 'retry timeout', flood: 'delivered ' },
      ...{
        redirects: 'dead status_302',
        years: 'dead status_429',
        later: 'retry status_503',
        garbage: expect.stringMatching(/^retry (bad_answer|connection)$/),
      },
      ...{ tls: 'retry tls', inside: 'dead target_refused', nowhere: 'retry unresolved' },
    })
  }, patient)
  expect(reached).toBe(0)
  // Of 1 GB each of the 20 leaves at most what the kernel buffers of a connection hold: some 4 MiB to send, 6 to receive.
  expect(flooded).toBeLessThan(20 * 12e6)
  const { rows } = await pool.query(
    `SELECT min(next_try_ms - ${clock_ms})::float8 AS soonest FROM due_postbacks WHERE partner = 'later' AND tries > 0 AND NOT leased`,
  )
  expect(rows[0].soonest).toBeGreaterThan(60_000)
  // A partner that says 429 for years stopped itself: the others of its postbacks wait, one was given up.
  expect((await states())['years dead']).toBeLessThan(5)
})

test('a connection that is kept leads to the address that was looked at; a new one is looked at anew', async () => {
  const { owe, start, states, logged } = await openStage()
  const heard: string[] = []
  const { port } = await listen((incoming, response) => {
    heard.push(String(incoming.headers.host))
    response.end()
  })
  await owe('moving', `http://moving.example:${port}/`, 3)
  let looks = 0
  start({ resolve: async () => (++looks === 1 ? ['127.0.0.1'] : ['10.0.0.1']) })
  await vi.waitFor(async () => expect(await states()).not.toHaveProperty('moving due'), patient)
  expect(heard.length).toBeGreaterThanOrEqual(1)
  expect(new Set(heard)).toEqual(new Set([`moving.example:${port}`]))
  expect(logged.filter(({ outcome }) => outcome === 'dead').every(({ reason }) => reason === 'target_refused')).toBe(
    true,
  )
})
