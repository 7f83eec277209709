/** One row of figures. All rows of a result have the same columns. */
export type BenchRow = Record<string, string | number>

export interface Aim {
  what: string
  aim: string
  measured: number
  met: boolean
}

/** A benchmark, exported as `bench` by `bench/NAME.bench.ts`. */
export interface Bench {
  name: string
  title: string
  run(args: string[]): Promise<{ rows: BenchRow[]; aims: Aim[] }>
}

/** The value of `--name N` among the arguments, or the default. */
export function numberArgument(args: readonly string[], name: string, otherwise: number): number {
  const at = args.indexOf(`--${name}`)
  if (at === -1) return otherwise
  const value = Number(args[at + 1])
  if (!Number.isFinite(value)) throw new Error(`--${name} needs a number`)
  return value
}

/** The text that follows `--NAME`; undefined without it. */
export function textArgument(args: readonly string[], name: string): string | undefined {
  const at = args.indexOf(`--${name}`)
  return at === -1 ? undefined : args[at + 1]
}

/** The value below which the share `p` (0 to 1) of the values lies. 0 without values. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? 0
}

/** The flags of node that write a CPU profile to the folder of `--cpu-prof FOLDER`. Empty without it. */
export function profileFlags(args: readonly string[]): string[] {
  const folder = args[args.indexOf('--cpu-prof') + 1]
  return args.includes('--cpu-prof') && folder ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : []
}
