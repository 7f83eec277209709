import { readFile, stat } from 'node:fs/promises'
import type { PostbackProtocol } from '@tributary/contracts/postback/received'
import { CliError } from '../errors.ts'

export interface PostbackFile {
  protocol: PostbackProtocol
  /** The bytes of the file, unchanged. */
  body: Buffer<ArrayBuffer>
}

/** Far above what a service takes, so that its own answer is seen. */
const file_bytes_max = 1024 * 1024

/** Reads a postback. Its protocol follows from its content where `given` is absent: AAK is a JWS, bare or as `jws-string`. */
export async function readPostbackFile(path: string, given?: PostbackProtocol): Promise<PostbackFile> {
  const { size } = await stat(path)
  if (size > file_bytes_max) throw new CliError('file_too_large', `${path} is larger than any postback.`)
  const body = await readFile(path)
  return { protocol: given ?? protocolOf(body.toString()), body }
}

function protocolOf(text: string): PostbackProtocol {
  if (!text.trimStart().startsWith('{')) return 'aak'
  return /"jws-string"\s*:/.test(text) ? 'aak' : 'skan'
}
