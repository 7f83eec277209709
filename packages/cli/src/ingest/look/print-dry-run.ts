import type { Envelope } from '@tributary/contracts/envelope'
import { print } from '../../output.ts'
import { openFile } from '../lines.ts'
import { refuseAllRejected } from '../rejected-totals.ts'
import { type DryRun, describeDryRun, dryRun, type Reading } from './dry-run.ts'
import { type FileForm, findUnknownColumns, linesOf, type UnknownName } from './first-lines.ts'
import { refuseColumns } from './heed.ts'

/** Prints a dry run of a file of events. Throws CliError `unknown_field` behind it where the real run would. */
export async function printDryRun(
  options: { json?: boolean },
  path: string,
  form: FileForm,
  { source, extra_fields }: { source: Envelope['source']; extra_fields: boolean },
): Promise<void> {
  const file = await openFile(path)
  const unknown_columns = file.is_csv ? await findUnknownColumns(file, form) : null
  const refused = extra_fields ? [] : (unknown_columns ?? [])
  await printReading(options, { lines: linesOf(file, file.open().content, form), unknown_columns, source }, refused)
}

/** Prints a dry run. Throws CliError behind it: `unknown_field` for the refused columns, or `all_rejected`. */
export async function printReading(
  options: { json?: boolean },
  reading: Reading,
  refused: readonly UnknownName[] = [],
): Promise<void> {
  const found = await dryRun(reading)
  print(options, found, describeDryRun(found))
  if (refused.length > 0) throw refuseColumns(refused)
  refuseAllRejected(found, Object.fromEntries(found.reasons.map((of) => [nameOf(of), of.lines])))
}

const nameOf = ({ reason, field }: DryRun['reasons'][number]): string =>
  field === null ? reason : `${reason} (${field})`
