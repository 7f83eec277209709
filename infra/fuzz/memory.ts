import { readFileSync } from 'node:fs'

export interface MemoryFigures {
  /** Anonymous resident memory in MiB (mapped files left out): medians of the first fifth after the warm-up and of the last. */
  warm_mb: number
  end_mb: number
  peak_mb: number
}

/** Watches the memory of a process; null where there is no /proc. */
export function watchMemory(pid: number): { end(): MemoryFigures | null } {
  const samples: number[] = []
  const sample = () => {
    const mib = anonymousMib(pid)
    if (mib !== null) samples.push(mib)
  }
  const timer = setInterval(sample, 250)
  return {
    end() {
      clearInterval(timer)
      sample()
      if (samples.length < 5) return null
      const fifth = (n: number) => samples.slice((samples.length * n) / 5, (samples.length * (n + 1)) / 5)
      return { warm_mb: median(fifth(1)), end_mb: median(fifth(4)), peak_mb: Math.max(...samples) }
    },
  }
}

const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!

function anonymousMib(pid: number): number | null {
  try {
    return Math.round(Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024)
  } catch {
    return null
  }
}
