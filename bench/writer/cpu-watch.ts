import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { cpuSeconds } from '../process/process-cost.ts'

/** CPU seconds since the watch began, by who spent them. */
export interface CpuSpent {
  seconds: number
  /** This process, all threads. */
  own: number
  /** The engine processes; 0 for engines inside this process. */
  engine: number
  kafka: number
  /** Idle time of the cores, and the time of all other processes. */
  idle: number
  foreign: number
}

/** Starts a watch over this process, its engines and the machine (`/proc`). */
export function startCpuWatch(): () => CpuSpent {
  const processes = engineProcesses()
  const look = () => {
    const { user, system } = process.cpuUsage()
    return {
      seconds: performance.now() / 1000,
      own: (user + system) / 1e6,
      engine: processes.engine === undefined ? 0 : cpuSeconds(processes.engine),
      kafka: processes.kafka === undefined ? 0 : cpuSeconds(processes.kafka),
      idle: idleSeconds(),
    }
  }
  const before = look()
  return () => {
    const now = look()
    const seconds = now.seconds - before.seconds
    const own = now.own - before.own
    const engine = now.engine - before.engine
    const kafka = now.kafka - before.kafka
    const idle = now.idle - before.idle
    return {
      seconds,
      own,
      engine,
      kafka,
      idle,
      foreign: seconds * availableParallelism() - own - engine - kafka - idle,
    }
  }
}

const programs = { engine: 'clickhouse-http/main.ts', kafka: 'kafka.Kafka' } as const

/** The engine processes that this process started. Their parent is a guard, and its parent is this process. */
function engineProcesses(): { engine?: number; kafka?: number } {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) if (/^\d+$/.test(name)) parents.set(Number(name), parentOf(Number(name)))
  const found: { engine?: number; kafka?: number } = {}
  for (const [pid, parent] of parents) {
    if (parents.get(parent) !== process.pid) continue
    const command = read(`/proc/${pid}/cmdline`)
    if (command.includes(programs.engine)) found.engine = pid
    if (command.includes(programs.kafka)) found.kafka = pid
  }
  return found
}

const parentOf = (pid: number): number => Number(/\) \S (\d+)/.exec(read(`/proc/${pid}/stat`))?.[1])

/** Idle seconds of all cores. Waiting for a disk counts as idle. */
function idleSeconds(): number {
  const fields = read('/proc/stat').split('\n', 1)[0]!.split(/\s+/).map(Number)
  return (fields[4]! + fields[5]!) / 100
}

/** Reads a file of /proc. Empty when the process has ended. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
