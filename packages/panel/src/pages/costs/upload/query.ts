import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../../api/call.ts'
import { serverNow } from '../../../api/clock.ts'
import { limits } from '../../../api/declared/limits.ts'
import { type CostFile, type Mapping, uploadsOf } from './cost-file.ts'

/** Above this the command does it better: it goes on after a break. */
const lines_max = 200_000
const rejected_shown_max = 100

interface Rejected {
  /** In the file, from 1. */
  row: number
  reason: string
}

export interface Uploaded {
  /** Lines that are answered. */
  done: number
  accepted: number
  rejected: number
  /** The first of them. */
  examples: Rejected[]
}

/** Reads a file of costs: CSV, with commas, semicolons or tabs. Throws `RangeError` where it has no lines, too many, or a broken row. */
export async function readCostFile(file: File): Promise<CostFile> {
  const { default: papa } = await import('papaparse')
  const { data, meta, errors } = papa.parse<Record<string, string>>(await file.text(), {
    header: true,
    skipEmptyLines: false,
  })
  const all = data.map((texts, n) => ({ row: n + 2, texts }))
  const lines = all.filter(({ texts }) => Object.values(texts).some((text) => String(text).trim() !== ''))
  const whole = new Set(lines.map(({ row }) => row))
  const broken = errors.find(({ type, row = 0 }) => type !== 'Delimiter' && whole.has(row + 2))
  if (broken !== undefined) throw new RangeError(`row ${(broken.row ?? 0) + 2}`)
  if (lines.length === 0) throw new RangeError('empty')
  if (lines.length > lines_max) throw new RangeError('long')
  const as_of_ms = Math.floor(Math.min(file.lastModified, serverNow()))
  return { name: file.name, as_of_ms, columns: meta.fields ?? [], lines }
}

/** Uploads a file, a thousand lines at a time. After a failure the same may be sent again: it counts once. */
export function useUpload(app_id: string) {
  const client = useQueryClient()
  const [uploaded, setUploaded] = useState<Uploaded | null>(null)
  const upload = useMutation({
    mutationFn: async ({ file, mapping }: { file: CostFile; mapping: Mapping }) => {
      let sum: Uploaded = { done: 0, accepted: 0, rejected: 0, examples: [] }
      setUploaded(sum)
      for (const body of uploadsOf(file, mapping, limits.costs_max)) {
        const { accepted, rejected, results } = await call('uploadCosts', { params: { app_id }, body })
        const examples = results.flatMap((one, n) =>
          one.status === 'accepted'
            ? []
            : [{ row: file.lines[sum.done + n]!.row, reason: one.message ?? one.reason ?? '' }],
        )
        sum = {
          ...{ done: sum.done + results.length, accepted: sum.accepted + accepted, rejected: sum.rejected + rejected },
          examples: [...sum.examples, ...examples].slice(0, rejected_shown_max),
        }
        setUploaded(sum)
      }
      return sum
    },
    onSettled: () => client.invalidateQueries(),
  })
  return { upload, uploaded }
}
