import { expect, it } from 'vitest'
import { emptyFolder, fileWith, tributary } from './run-tributary.ts'

const keys = ['--app-key', 'a', '--company-key', 'c', '--secret', 's']
/** Every command that takes a file. */
const commands = [
  ['postback', 'verify'],
  ['postback', 'send'],
  ['send', ...keys],
  ['backfill', '--key', 'k'],
  ['fx', 'load'],
  ['cv-schema', 'publish', '--app', 'a'],
  ['cv-schema', 'diff', '--app', 'a'],
  ['geo', 'update'],
]

it.each(commands)(
  '%s %s says clearly that its file is a folder, is not there or cannot be read',
  async (...command) => {
    const refuse = async (path: string) => {
      const { code, stdout, stderr } = await tributary([...command, path, '--json'])
      expect([code, stdout]).toEqual([1, ''])
      const { error, message } = JSON.parse(stderr)
      expect(message).toContain(path)
      return error
    }
    const file = await fileWith('one.jsonl', '{}')
    const [folder, nowhere, beyond] = await Promise.all([
      refuse(await emptyFolder()),
      refuse(`${file}.jsonl`),
      refuse(`${file}/one.jsonl`),
    ])
    expect([folder, nowhere, beyond]).toEqual(['not_a_file', 'file_not_found', 'file_failed'])
  },
)
