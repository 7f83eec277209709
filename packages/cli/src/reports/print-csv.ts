import { once } from 'node:events'
import type { ReportParams } from '@tributary/client/reports'
import type { ServerClient } from '@tributary/client/server-client'
import { limits } from '@tributary/contracts/limits'
import type { ReportName } from '@tributary/contracts/reports'
import { startProgress } from './progress.ts'

/** Prints a report as the CSV of the service, while it comes. Resolves with the currencies without a rate. */
export async function printCsv(
  client: Pick<ServerClient, 'reportCsv'>,
  name: ReportName,
  params: ReportParams,
  stdout: NodeJS.WriteStream = process.stdout,
): Promise<string[]> {
  const { text, missing_rates } = await client.reportCsv(name, params)
  const { until_ms = Date.now() } = params
  const { since_ms = until_ms - limits.report_window_default_ms } = params
  const progress = startProgress({ since_ms, until_ms })
  let rows = -1 // the header line is none
  try {
    for await (const part of text) {
      if (!stdout.write(part)) await once(stdout, 'drain')
      rows += part.split('\r\n').length - 1
      if (!stdout.isTTY) progress.update(lastDay(part), rows) // on a terminal the rows show it
    }
  } finally {
    progress.stop()
  }
  return missing_rates
}

const lastDay = (part: string): string | undefined => /.*\r\n(\d{4}-\d{2}-\d{2}),/s.exec(part)?.[1]
