import { moneyMutants } from './lists/money.ts'
import type { Mutant } from './mutant.ts'

/** One fault for each rule that a restructuring must not lose. */
export const mutants: readonly Mutant[] = [...moneyMutants]
