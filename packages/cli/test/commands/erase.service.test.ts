import { expect, it } from 'vitest'
import { tributary } from '../run-tributary.ts'
import { sent, service } from './fake-admin-api.ts'

const nothing = { run: 7, done: false, drained: 0, rows: {}, batches: [] }
const some = { ...nothing, drained: 25, rows: { events_raw_v1: 90 }, batches: [{ requests: 25, rows: 90 }] }
const all = { ...some, done: true, drained: 30 }

/** The settings of a command for a service whose run answers so, one call after the other. */
async function erasing(...answers: object[]) {
  const asked: unknown[] = []
  const env = await service({
    'POST /admin/api/v1/erasures/run': (request) => {
      asked.push(sent(request))
      return { status: 200, body: answers[asked.length - 1] }
    },
  })
  return { env, asked }
}

it('tells of a run that takes long how far it is, and that the eraser may be away', async () => {
  const { env, asked } = await erasing(nothing, nothing, some, all)
  const run = await tributary(['erase', 'run'], env)
  expect(run).toMatchObject({ code: 0, stdout: '30 installs erased\ntable\trows\nevents_raw_v1\t90\n' })
  expect(run.stderr.split('\n')).toEqual([
    'Nothing is erased yet. Is the eraser running? Its log names what it waits for.',
    '25 installs erased until now.',
    '',
  ])
  expect(asked).toEqual([{}, { run: 7 }, { run: 7 }, { run: 7 }])
})

it('counts a single install as one', async () => {
  const one = { ...nothing, done: true, drained: 1 }
  const { env } = await erasing(one)
  expect(await tributary(['erase', 'run'], env)).toMatchObject({ code: 0, stdout: '1 install erased\n' })
})

it('prints with --json the document of a run and nothing else', async () => {
  const { env } = await erasing(nothing, all)
  const { code, stdout, stderr } = await tributary(['erase', 'run', '--json'], env)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual({ drained: 30, rows: all.rows, batches: all.batches })
})

it('does not say that nobody asked for an erasure whose request the eraser has yet to read', async () => {
  const env = await service({
    'GET /admin/api/v1/erasures?app_id=app_1&install_uuid=i': () => ({
      status: 404,
      body: { error: 'unknown_erasure' },
    }),
  })
  const { code, stderr } = await tributary(['erase', 'status', 'i', '--app', 'app_1'], env)
  expect(code).toBe(1)
  expect(stderr).not.toContain('Nobody')
  expect(stderr).toContain('tributary status --wait')
})

it('says of an install that no table holds that nothing is stored, and prints no line for it', async () => {
  const env = await service({
    'GET /admin/api/v1/installs/i/export?app_id=app_1': () => ({ status: 200, text: '{"done":true,"rows":0}\n' }),
  })
  const { code, stdout, stderr } = await tributary(['export', 'i', '--app', 'app_1'], env)
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  expect(stderr).toContain('No table holds anything of install i in app app_1.')
})

const removed = { run: 7, done: true, rows: { clicks_raw_v1: 12 }, objects_blanked: 3, objects_deleted: 1 }

async function retaining(...answers: object[]) {
  const asked: unknown[] = []
  const env = await service({
    'POST /admin/api/v1/retention/run': (request) => {
      asked.push(sent(request))
      return { status: 200, body: answers[asked.length - 1] }
    },
  })
  return { env, asked }
}

it('shows the rows by table before it has anything removed, and then what was', async () => {
  const going = { ...removed, run: 8, done: false, rows: {} }
  const { env, asked } = await retaining(removed, going, { ...removed, run: 8 })
  const run = await tributary(['retention', 'run'], env)
  const table = 'table\trows\nclicks_raw_v1\t12\n'
  expect(run).toEqual({ code: 0, stderr: table, stdout: `${table}3 audit objects blanked, 1 deleted.\n` })
  expect(asked).toEqual([{ dry_run: true }, {}, { run: 8 }])
})

it('with --dry-run removes nothing', async () => {
  const { env, asked } = await retaining(removed)
  const run = await tributary(['retention', 'run', '--dry-run', '--json'], env)
  expect([run.code, JSON.parse(run.stdout)]).toEqual([0, { planned: { clicks_raw_v1: 12 } }])
  expect(asked).toEqual([{ dry_run: true }])
})
