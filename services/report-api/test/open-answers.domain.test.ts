import { PassThrough } from 'node:stream'
import { limits } from '@tributary/contracts/limits'
import { expect, test, vi } from 'vitest'
import { countOpenAnswers } from '../src/answers/open-answers.ts'

test('a key has a bounded number of answers that nobody reads; one that was read or left makes room, and other keys have their own', async () => {
  const open = countOpenAnswers()
  const tooMany = expect.objectContaining({ code: 'rate_limited', headers: { 'retry-after': '1' } })
  const answers = Array.from({ length: limits.key_reports_open_max }, () => new PassThrough())
  for (const answer of answers) open('slow', answer)
  expect(() => open('slow', new PassThrough())).toThrow(tooMany)
  open('other', new PassThrough())
  answers[0]!.end()
  answers[1]!.destroy()
  await vi.waitFor(() => open('slow', new PassThrough()), { timeout: 180_000 })
  await vi.waitFor(() => open('slow', new PassThrough()), { timeout: 180_000 })
  expect(() => open('slow', new PassThrough())).toThrow(tooMany)
})
