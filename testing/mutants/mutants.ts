import { acceptMutants, quotaMutants } from './lists/accept.ts'
import { moneyMutants } from './lists/money.ts'
import { writerMutants } from './lists/writer.ts'
import type { Mutant } from './mutant.ts'

/** One fault for each rule that a restructuring must not lose. */
export const mutants: readonly Mutant[] = [...acceptMutants, ...quotaMutants, ...moneyMutants, ...writerMutants]
