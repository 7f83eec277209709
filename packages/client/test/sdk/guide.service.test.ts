import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCatalogue } from '@tributary/contracts/errors'
import { expect, it } from 'vitest'
import { openSdkClient } from './open-sdk-client.ts'

/** The codes of docs/api.md#errors-and-retries by what a client does, and the statuses of its catch-alls. */
function readGuide(): { codes: Map<string, string>; statuses: Map<number, string> } {
  const text = readFileSync(join(import.meta.dirname, '../../../../docs/api.md'), 'utf8')
  const codes = new Map<string, string>()
  const statuses = new Map<number, string>()
  let does = ''
  for (const [, name = '', answers = ''] of text.matchAll(/^\| ([^|]*?) *\| ([^|]*) \|$/gm)) {
    if (name !== '') does = name
    if (!['Keep and retry', 'Halve', 'Drop and fix', 'Stop'].includes(does)) continue
    for (const [, code] of answers.matchAll(/`(\w+)`/g)) codes.set(code!, does)
    if (answers.includes('5xx')) for (const status of [500, 503]) statuses.set(status, does)
    const others = /every other ([^`]*),/.exec(answers)?.[1] ?? ''
    for (const status of others.match(/\d{3}/g) ?? []) statuses.set(Number(status), does)
  }
  return { codes, statuses }
}

const guide = readGuide()
const does = ({ code, status }: { code: string; status: number }) => guide.codes.get(code) ?? guide.statuses.get(status)
const ofClients = errorCatalogue.filter(({ surfaces }) =>
  surfaces.some((surface) => ['sdk', 's2s', 'any'].includes(surface)),
)

it('the guide says what a client does with every code of ingestion', () => {
  expect(ofClients.filter((error) => does(error) === undefined)).toEqual([])
  const known = new Set<string>(ofClients.map(({ code }) => code))
  expect([...guide.codes.keys()].filter((code) => !known.has(code))).toEqual([])
})

const ofApps = ofClients.filter(({ surfaces }) => surfaces.some((surface) => surface !== 's2s'))
it.each(ofApps)('the client of apps does with $code what the guide says', async (error) => {
  const { client, shelf, rejected } = await openSdkClient((_events, n) =>
    n === 0 ? { status: error.status, body: { error: error.code } } : null,
  )
  await client.track({ event_name: 'a' })
  const { pending } = await client.flush()
  expect(pending).toBe(does(error) === 'Keep and retry' ? 1 : 0)
  if (pending === 0) expect(rejected.map(({ reason }) => reason)).toEqual([error.code])
  else await client.flush()
  expect(shelf.events.size).toBe(pending)
  await client.close()
})
