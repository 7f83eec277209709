import { type JudgedUpload, judgeUpload } from '@tributary/domain/costs/judge-upload'
import { readJsonObject } from './read-json-object.ts'

export interface CostsInput {
  facts: { company_id: string; app_id: string }
  received_at_ms: number
}

/** An upload of `PUT /api/v1/costs`. Throws `bad_json`, `bad_batch_shape` and `too_many_costs`. */
export const judgeCostsBody = (body: Buffer, _wire: Buffer, { received_at_ms }: CostsInput): JudgedUpload =>
  judgeUpload(readJsonObject(body), received_at_ms)
