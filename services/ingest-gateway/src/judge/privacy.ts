import { ErasureRequest } from '@tributary/contracts/erasure'
import { CodedError } from '@tributary/contracts/errors'
import { readJsonObject } from './read-json-object.ts'

export interface PrivacyInput {
  facts: { company_id: string; app_id: string }
}

/** A request of `/privacy/delete`. */
export interface JudgedPrivacy {
  install_uuid: string
}

/** Throws `empty_body`, `bad_json`, `install_uuid_required` and `invalid_field`. */
export function judgePrivacy(body: Buffer): JudgedPrivacy {
  if (body.length === 0) throw new CodedError('empty_body')
  const { install_uuid } = readJsonObject(body)
  if (install_uuid === undefined || install_uuid === null || install_uuid === '') {
    throw new CodedError('install_uuid_required', { field: 'install_uuid' })
  }
  const parsed = ErasureRequest.shape.install_uuid.safeParse(install_uuid)
  if (!parsed.success) throw new CodedError('invalid_field', { field: 'install_uuid' })
  return { install_uuid: parsed.data }
}
