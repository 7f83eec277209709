import { percentile } from '../bench.ts'

/** Times the calls of `work` that go through `call`. It shows the part of an answer that an engine takes. */
export function timed<Args extends unknown[], Result>(work: (...args: Args) => Promise<Result>) {
  let took_ms: number[] = []
  return {
    async call(...args: Args): Promise<Result> {
      const started = performance.now()
      const result = await work(...args)
      took_ms.push(performance.now() - started)
      return result
    },
    restart() {
      took_ms = []
    },
    /** `NAME_p50_ms` and `NAME_p99_ms` since `restart`. */
    percentiles: (name: string): Record<string, number> => ({
      [`${name}_p50_ms`]: Math.round(percentile(took_ms, 0.5)),
      [`${name}_p99_ms`]: Math.round(percentile(took_ms, 0.99)),
    }),
  }
}
