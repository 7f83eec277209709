import { readFileSync } from 'node:fs'

/** The value of Linux on every architecture that Node supports. */
const clock_ticks_per_second = 100

/** CPU seconds of a process since its start, all threads, user and system (`/proc/PID/stat`). */
export function cpuSeconds(pid: number): number {
  // The program name in parentheses may hold any character. utime and stime are the 12th and 13th field after it.
  const [, fields = ''] = /\) (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
  const [utime, stime] = fields.split(' ').slice(11, 13)
  return (Number(utime) + Number(stime)) / clock_ticks_per_second
}

/** Resident memory of a process now, MB. */
export const residentMegabytes = (pid: number): number => megabytes(pid, 'VmRSS')

/** Memory that a process has for itself now, MB: without the pages of files that it maps. */
export const ownMegabytes = (pid: number): number => megabytes(pid, 'RssAnon')

/** Pages of files that a process maps now, MB: its program and the log, which the system may take back. */
export const mappedMegabytes = (pid: number): number => megabytes(pid, 'RssFile')

function megabytes(pid: number, what: string): number {
  const kilobytes = new RegExp(`^${what}:\\s*(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kilobytes) / 1024)
}
