import type { Envelope } from '@tributary/contracts/envelope'
import { print } from '../../output.ts'
import { openFile } from '../lines.ts'
import { refuseAllRejected } from '../rejected-totals.ts'
import { type DryRun, describeDryRun, dryRun } from './dry-run.ts'
import type { FileForm } from './first-lines.ts'
import { refuseColumns } from './heed.ts'

interface Printed {
  source: Envelope['source']
  extra_fields: boolean
}

/** Prints a dry run. Throws CliError behind it where the real run would fail: `unknown_field` or `all_rejected`. */
export async function printDryRun(
  options: { json?: boolean },
  path: string,
  form: FileForm,
  { source, extra_fields }: Printed,
): Promise<void> {
  const file = await openFile(path)
  const found = await dryRun(file, form, source)
  print(options, found, describeDryRun(found))
  if (file.is_csv && found.unknown_fields.length > 0 && !extra_fields) throw refuseColumns(found.unknown_fields)
  refuseAllRejected(found, Object.fromEntries(found.reasons.map((of) => [nameOf(of), of.lines])))
}

const nameOf = ({ reason, field }: DryRun['reasons'][number]): string =>
  field === null ? reason : `${reason} (${field})`
