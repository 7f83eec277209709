import { judgedReasons } from '@tributary/contracts/postback/judged'
import { judgePostback } from '@tributary/domain/postback/judge'
import { createAppleTwin } from '@tributary/testing/postback/apple-twin'
import { expect, it } from 'vitest'
import { readPostbackFile } from '../src/postback/postback-file.ts'
import { reasonText } from '../src/postback/reason-words.ts'
import { fileWith } from './run-tributary.ts'

it('tells the protocol of a file from its content, unless it is given', async () => {
  const protocolOf = async (content: string) => (await readPostbackFile(await fileWith('p', content))).protocol
  expect(await protocolOf('\n{"version":"4.0"}')).toBe('skan')
  expect(await protocolOf('{"jws-string" : "a.b.c"}')).toBe('aak')
  expect(await protocolOf('a.b.c\n')).toBe('aak')
  expect((await readPostbackFile(await fileWith('p', 'a.b.c'), 'skan')).protocol).toBe('skan')
})

it('reads no file that is larger than any postback', async () => {
  const path = await fileWith('p', Buffer.alloc(2 ** 20 + 1))
  await expect(readPostbackFile(path)).rejects.toMatchObject({ code: 'file_too_large' })
})

it('has a sentence for each reason', () => {
  const judged = judgePostback({ protocol: 'skan', body: '' }, createAppleTwin().keys)
  for (const reason of Object.values(judgedReasons).flat()) {
    const sentence = reasonText({ ...judged, reason: `${reason}:app-id` })
    expect(sentence).toMatch(/^[A-Z].*\.$/)
    expect(sentence).not.toContain(`${reason}:`)
  }
})
