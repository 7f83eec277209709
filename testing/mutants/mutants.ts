import { acceptMutants, quotaMutants } from './lists/accept.ts'
import { attributionMutants } from './lists/attribution.ts'
import { clientMutants } from './lists/client.ts'
import { erasureMutants } from './lists/erasure-and-retention.ts'
import { linkMutants, postbackMutants } from './lists/links-and-postbacks.ts'
import { moneyMutants } from './lists/money.ts'
import { processMutants } from './lists/process.ts'
import { receiptMutants } from './lists/receipts.ts'
import { reportMutants } from './lists/reports.ts'
import { writerMutants } from './lists/writer.ts'
import type { Mutant } from './mutant.ts'

/** One fault for each rule that a restructuring must not lose. */
export const mutants: readonly Mutant[] = [
  ...acceptMutants,
  ...quotaMutants,
  ...moneyMutants,
  ...receiptMutants,
  ...writerMutants,
  ...attributionMutants,
  ...linkMutants,
  ...postbackMutants,
  ...erasureMutants,
  ...reportMutants,
  ...clientMutants,
  ...processMutants,
]
