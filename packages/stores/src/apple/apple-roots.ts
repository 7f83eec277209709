import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Apple Root CA - G3, which signs what the App Store signs (https://www.apple.com/certificateauthority/). */
const pinned_file = join(import.meta.dirname, '..', '..', 'roots', 'apple-root-ca-g3.pem')

/** The root certificates that receipts of Apple are verified with: the pinned one, or all of a PEM file. Throws for a file without any. */
export function readAppleRoots(file = pinned_file): X509Certificate[] {
  const pem = readFileSync(file, 'latin1')
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0) throw new Error(`${file} holds no certificate in PEM.`)
  return blocks.map((block) => new X509Certificate(block))
}
