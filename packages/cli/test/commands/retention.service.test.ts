import { expect, it } from 'vitest'
import { tributary } from '../run-tributary.ts'
import { sent, service } from './fake-admin-api.ts'

const answer = { run: 7, done: true, rows: { clicks_raw_v1: 12 }, objects_blanked: 3, objects_deleted: 1 }

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
  const going = { ...answer, run: 8, done: false, rows: {} }
  const { env, asked } = await retaining(answer, going, { ...answer, run: 8 })
  const run = await tributary(['retention', 'run'], env)
  const table = 'table\trows\nclicks_raw_v1\t12\n'
  expect(run).toEqual({ code: 0, stderr: table, stdout: `${table}3 audit objects blanked, 1 deleted.\n` })
  expect(asked).toEqual([{ dry_run: true }, {}, { run: 8 }])
})

it('with --dry-run removes nothing', async () => {
  const { env, asked } = await retaining(answer)
  const run = await tributary(['retention', 'run', '--dry-run', '--json'], env)
  expect([run.code, JSON.parse(run.stdout)]).toEqual([0, { planned: { clicks_raw_v1: 12 } }])
  expect(asked).toEqual([{ dry_run: true }])
})
