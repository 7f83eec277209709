import { mkdir } from 'node:fs/promises'
import { open } from 'lmdb'

/** Copies an lmdb store as of one moment, also while another process writes to it. */
export async function copyLmdb(from: string, to: string): Promise<void> {
  const env = open({ path: from, readOnly: true })
  try {
    await mkdir(to, { mode: 0o700 })
    await env.backup(to, false)
  } finally {
    await env.close()
  }
}
