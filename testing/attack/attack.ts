import type { Answers } from './answers.ts'
import type { AttackTenant } from './tenants.ts'

/** One way to harm others through the public port. */
export interface Attack {
  name: string
  /** The attacker's action, in one sentence. */
  what: string
  /** Answers that must come, such as `429 rate_limited`; see `Answers` for the names. The attack lasts until they do. */
  expected: readonly string[]
  /** Other answers that may come. Any answer beyond these is a fault. */
  allowed: readonly string[]
  /** How much memory may grow, where that is less than in any attack. */
  growth_mib_max?: number
  /** Monthly quota of the attacker's company; unlimited when absent. */
  monthly_quota?: number
  /** The victim also sends installs and waits for their verdicts, and events and waits until its report counts them. */
  waits?: boolean
  /** The victim also has installs of its own erased, and waits for their certificates. */
  erases?: boolean
  /** The victim also sends batches of more than half a MiB, where the attack is long enough to be compared. */
  large_batches?: boolean
  /** Readies the data folder before the service starts, and names settings of it. `close` is called at the end. */
  prepare?(data_dir: string): Promise<{ env: Record<string, string>; close(): Promise<void> }>
  /** Attacks until `target.signal` aborts, and waits for outstanding answers. */
  run(target: Target): Promise<void>
  /** Sends as many harmless requests, beside which the control of the victim runs; it runs alone where absent. */
  ordinary?(target: Target): Promise<void>
  /** Checks the stored data once all events are written, and returns the faults. */
  check?(target: Target): Promise<string[]>
}

/** The service that is attacked, the attacker, and the answers so far. */
export interface Target {
  url: string
  port: number
  /** Data folder of the service, for checks of stored data. */
  data_dir: string
  attacker: AttackTenant
  /** What anybody can read in an app of the victim. */
  victim: PublicKeys
  started_ms: number
  signal: AbortSignal
  /** How long the attack lasts: it may send as much in an hour as in a minute. */
  seconds: number
  answers: Answers
}

/** The keys of an app that are public. */
export type PublicKeys = Pick<AttackTenant, 'company_key' | 'app_key'>
