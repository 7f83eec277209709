import { open } from 'node:fs/promises'

/**
 * A file whose lines are on the disk when they resolve; lines that come during a write share the next one. It is
 * what a simple durable answer costs on a machine.
 */
export async function openSyncedFile(path: string) {
  const file = await open(path, 'a')
  let waiting: { line: string; written: PromiseWithResolvers<void> }[] = []
  let writing = false

  async function writeAll() {
    writing = true
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      try {
        await file.appendFile(group.map(({ line }) => line).join(''))
        await file.datasync()
        for (const { written } of group) written.resolve()
      } catch (error) {
        for (const { written } of group) written.reject(error)
      }
    }
    writing = false
  }

  return {
    append(line: string): Promise<void> {
      const written = Promise.withResolvers<void>()
      waiting.push({ line, written })
      if (!writing) void writeAll()
      return written.promise
    },
    close: () => file.close(),
  }
}
