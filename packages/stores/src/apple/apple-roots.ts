import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Apple Root CA - G3, for signed transactions and notifications, and Apple Root CA, for receipts from before StoreKit 2
 * (https://www.apple.com/certificateauthority/).
 */
const pinned_files = ['apple-root-ca-g3.pem', 'apple-root-ca.pem'].map((name) =>
  join(import.meta.dirname, '..', '..', 'roots', name),
)

/** The root certificates that receipts of Apple are verified with: the pinned ones, or all of a PEM file. Throws for a file without any. */
export const readAppleRoots = (file?: string): X509Certificate[] =>
  (file === undefined ? pinned_files : [file]).flatMap(readRoots)

function readRoots(file: string): X509Certificate[] {
  const pem = readFileSync(file, 'latin1')
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0) throw new Error(`${file} holds no certificate in PEM.`)
  return blocks.map((block) => new X509Certificate(block))
}
