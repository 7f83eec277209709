import { readdirSync, readFileSync } from 'node:fs'

export interface LeftProcess {
  pid: number
  command: string
}

/** The processes that have this assignment in the environment they were started with; none on systems without /proc. */
export function processesWith(assignment: string): LeftProcess[] {
  const found: LeftProcess[] = []
  for (const pid of pids()) {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(assignment)) continue
      found.push({ pid, command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() })
    } catch {
      // It ended, or belongs to another user.
    }
  }
  return found
}

function pids(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return [] // not Linux
  }
}
