import { describe, expect, it } from 'vitest'
import { csvRecords } from '../src/ingest/csv-records.ts'
import { splitLines } from '../src/ingest/lines.ts'

async function read(text: string, chunk = 7) {
  const content = (async function* () {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk)
  })()
  return Array.fromAsync(csvRecords(splitLines(content, 4096)), ({ line, fields }) => [line, fields])
}

describe('CSV records', () => {
  it('reads quotes, doubled quotes, empty fields and line breaks inside quotes', async () => {
    expect(await read('a,"b,""c""",\r\n,"x\ny",z\n\nlast,"",1')).toEqual([
      [1, ['a', 'b,"c"', '']],
      [2, ['', 'x\ny', 'z']],
      [5, ['last', '', '1']],
    ])
  })

  it('loses one line to a quote that is never closed', async () => {
    expect(await read('a,"b\nc,d\ne,f')).toEqual([
      [1, null],
      [2, ['c', 'd']],
      [3, ['e', 'f']],
    ])
  })

  it('loses one line to text behind a closing quote, broken UTF-8 or too many bytes', async () => {
    const content = (async function* () {
      yield Buffer.concat([Buffer.from('a,"b"c\n'), Buffer.from([0xff, 0x2c, 0x0a])])
      yield Buffer.from(`${'x'.repeat(5000)}\nc,d\n`)
    })()
    const found = await Array.fromAsync(csvRecords(splitLines(content, 4096)), ({ line, fields }) => [line, fields])
    expect(found).toEqual([
      [1, null],
      [2, null],
      [3, null],
      [4, ['c', 'd']],
    ])
  })

  it('reads the same whatever the size of the pieces it comes in', async () => {
    const text = 'ä,"ö\n""ü"\nx,"y\n1,2\n'
    for (const size of [1, 2, 3, 100]) expect(await read(text, size)).toEqual(await read(text, 50))
  })
})
