import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { packRecord } from '@tributary/broker/kafka/packed'
import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import { closeRecords, openRecord, openRecords } from '@tributary/gateway/event-records'
import { sdkEvent } from '@tributary/testing/builders'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { needed } from '@tributary/testing/engines/install'
import { afterAll, expect, it } from 'vitest'

const cwd = join(import.meta.dirname, '..')
const readme = readFileSync(join(cwd, 'README.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'tributary-read-records-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const facts: EnvelopeFacts = {
  ...{ v: 1, company_id: 'co_1', app_id: 'app_1', platform: 'ios', source: 'sdk' },
  ...{ received_at_ms: Date.now(), ip: '192.0.2.1', user_agent: 'ü', sdk: '', sdk_platform: '' },
}

/** Records as Kafka holds them, in each form that the gateway publishes. */
function publishedRecords() {
  const install = (install_uuid: string, ...event_ids: string[]) =>
    event_ids.map((event_id) => ({ ...sdkEvent({ install_uuid, event_id, event_name: 'level_up' }), install_uuid }))
  const events = JSON.stringify(install('i-1', '1', '2'))
  const body = Buffer.from(`{"events":${events},"sent_at_ms":1}`)
  const packed = { gzip: gzipSync(body), inflated_bytes: body.length }
  const holds = { facts: false, receipts: false }
  const open = [
    openRecord(facts, 'i-1', { sent: packed, holds }, 12),
    openRecord(facts, 'i-1', { sent: Buffer.from(events), holds }, 12),
    ...openRecords(facts, [...install('i-2', '3'), ...install('i-3', '4', '5')], 12),
  ]
  return closeRecords(open, 'audit/1').map(packRecord)
}

const lineOf = ({ headers = {}, value }: { headers?: Record<string, string>; value: Buffer }) =>
  `${JSON.stringify({ headers, value: value.toString('base64') })}\n`

async function run([command = '', ...args]: string[], input = '') {
  const child = spawn(command, args, { cwd, stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.on('error', () => {}) // a program that ends early
  child.stdin.end(input)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { lines: stdout.trim().split('\n'), stderr, code }
}

interface Program {
  label: string
  needs: string
  /** Its file, as in the commands of the README. */
  file: string
  build?: string[]
  command: string[]
}

const programs: Program[] = [
  { label: 'Python', needs: 'python3', file: 'read_records.py', command: ['python3', 'read_records.py'] },
  { label: 'TypeScript', needs: 'node', file: 'read-records.ts', command: [process.execPath, 'read-records.ts'] },
  {
    ...{ label: 'Go', needs: 'go', file: 'read_records.go', command: [join(folder, 'read-records')] },
    build: ['go', 'build', '-o', join(folder, 'read-records'), 'read_records.go'],
  },
]

for (const { label, needs, file, command, build } of programs) {
  const open = async () => {
    await needed(needs, `the example in ${label} needs ${needs}`)
    if (build !== undefined) expect(await run(build)).toMatchObject({ code: 0 })
    return { stop: async () => {} }
  }
  await describeWith(label, open, () => {
    it('reads every form of record that the gateway publishes', async () => {
      const { lines, code } = await run(command, publishedRecords().map(lineOf).join(''))
      expect(code).toBe(0)
      const wanted = ['i-1 1', 'i-1 2', 'i-1 1', 'i-1 2', 'i-2 3', 'i-3 4', 'i-3 5']
      expect(lines).toEqual(wanted.map((one) => `app_1 ${one} level_up`))
    })

    it('reads the sample with the command of the README', async () => {
      const commands = [...readme.matchAll(/`([^`]+ < sample\.jsonl)`/g)].map(([, one = '']) => one)
      const shown = commands.find((one) => one.includes(file)) ?? 'exit 9'
      const { lines, code } = await run(['sh', '-c', shown])
      expect({ lines, code }).toEqual({
        lines: ['app_1 i-1 1 purchase', 'app_1 i-2 2 level_up', 'app_1 i-2 3 level_up'],
        code: 0,
      })
    })

    it('reports a record that inflates to more than a record may hold, and reads the next', async () => {
      const bomb = { headers: { 'content-encoding': 'gzip' }, value: gzipSync(Buffer.alloc(64 * 1024 * 1024, ' ')) }
      const next = {
        value: Buffer.from(
          JSON.stringify({ v: 1, app_id: 'app_1', install_uuid: 'i-1', events: [sdkEvent({ event_id: '1' })] }),
        ),
      }
      const { lines, stderr } = await run(command, lineOf(bomb) + lineOf(next))
      expect(lines).toEqual([expect.stringMatching(/^app_1 i-1 1 /)])
      expect(stderr).toMatch(/too large|larger than/)
    })
  })
}
