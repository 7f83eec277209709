import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** All in MiB. `half_way` is the third fifth of a run, `end` the last fifth. */
export interface MemoryFigures {
  /** Lowest use of JavaScript's heap and buffers, which excludes garbage. */
  heap: { half_way: number; end: number }
  /** Median of the anonymous resident memory of the process, with native engines and without mapped files. */
  resident: { half_way: number; end: number; peak: number }
}

/** Largest growth between half-way and the end. The allocators of native engines settle late. */
const heap_growth_mb_max = 48
const resident_growth_mb_max = 160

interface Sample {
  heap: number
  resident: number
}

/** Watches the memory of a service through its metrics and the system. `end` gives null without /proc. */
export function watchMemory(pid: number, url: string) {
  const samples: Sample[] = []
  const stop = new AbortController()
  const watching = (async () => {
    while (!stop.signal.aborted) {
      const [heap, resident] = [await heapMib(url), residentMib(pid)]
      if (heap !== null && resident !== null) samples.push({ heap, resident })
      await pause(500, undefined, { signal: stop.signal }).catch(() => {})
    }
  })()
  return {
    now_mb: () => residentMib(pid),
    async end(): Promise<MemoryFigures | null> {
      stop.abort()
      await watching
      if (samples.length < 10) return null
      const fifth = (n: number) => samples.slice((samples.length * n) / 5, (samples.length * (n + 1)) / 5)
      const heap = (part: Sample[]) => Math.min(...part.map((sample) => sample.heap))
      const resident = (part: Sample[]) => median(part.map((sample) => sample.resident))
      return {
        heap: { half_way: heap(fifth(2)), end: heap(fifth(4)) },
        resident: {
          half_way: resident(fifth(2)),
          end: resident(fifth(4)),
          peak: Math.max(...samples.map((s) => s.resident)),
        },
      }
    },
  }
}

/** The fault of figures that grew; null when they are flat. */
export function findGrowth({ heap, resident }: MemoryFigures): string | null {
  if (heap.end - heap.half_way > heap_growth_mb_max) return `the heap grew from ${heap.half_way} to ${heap.end} MiB`
  if (resident.end - resident.half_way <= resident_growth_mb_max) return null
  return `resident memory grew from ${resident.half_way} to ${resident.end} MiB`
}

const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!

async function heapMib(url: string): Promise<number | null> {
  const text = await fetch(`${url}/metrics`).then(
    (answer) => answer.text(),
    () => '',
  )
  const bytes = [/^nodejs_heap_size_used_bytes (\S+)$/m, /^nodejs_external_memory_bytes (\S+)$/m].map(
    (line) => line.exec(text)?.[1],
  )
  return bytes.includes(undefined) ? null : Math.round(bytes.reduce((sum, one) => sum + Number(one), 0) / 2 ** 20)
}

/** Anonymous resident memory of a process; null without /proc. */
export function residentMib(pid: number): number | null {
  try {
    const kib = /RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kib === undefined ? null : Math.round(Number(kib) / 1024)
  } catch {
    return null
  }
}
