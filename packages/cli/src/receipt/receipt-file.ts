import { readFile, stat } from 'node:fs/promises'
import { CliError } from '../errors.ts'

/** Far above what an event may hold, so that the verdict tells of a receipt that is too large. */
const file_bytes_max = 1024 * 1024
/** The first byte of an app receipt as the device stores it (DER). */
const der_sequence = 0x30

/** Reads a receipt as `props.receipt` would hold it: its JSON, a bare JWS, or an app receipt in base64 or as stored on the device. */
export async function readReceiptFile(path: string): Promise<unknown> {
  const { size } = await stat(path)
  if (size > file_bytes_max) throw new CliError('file_too_large', `${path} is larger than any receipt.`)
  const bytes = await readFile(path)
  const text = bytes.toString().trim()
  if (bytes[0] === der_sequence && !isText(bytes)) return { store: 'apple', app_receipt: bytes.toString('base64') }
  if (text.startsWith('{')) return readJson(text, path)
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text) ? { store: 'apple', jws: text } : { store: 'apple', app_receipt: text }
}

const isText = (bytes: Buffer): boolean =>
  bytes.every((byte) => byte < 0x7f && (byte >= 0x20 || byte === 0x0a || byte === 0x0d))

function readJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new CliError('bad_json', `${path} begins like JSON and is none.`)
  }
}
