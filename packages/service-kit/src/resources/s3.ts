import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'
import { openS3AuditStore } from '@tributary/audit-store/s3'
import type { Service } from '../service/run-service.ts'
import type { Settings } from '../settings/read-settings.ts'
import { toRefusal } from './engine-refused.ts'
import type { Resource } from './resource.ts'

export const s3Settings = [
  'TRIBUTARY_S3_BUCKET',
  'TRIBUTARY_S3_ENDPOINT',
  'TRIBUTARY_S3_REGION',
  'TRIBUTARY_S3_ACCESS_KEY_ID',
  'TRIBUTARY_S3_SECRET_ACCESS_KEY',
] as const
type S3Config = Settings<(typeof s3Settings)[number], 'TRIBUTARY_S3_BUCKET'>

/** Audit objects in a bucket as the settings say. Throws `StartRefused` when it can't be used. */
export async function openS3(config: S3Config, { onClose, checks }: Service): Promise<RewritableAuditStore> {
  const audit = await openS3AuditStore({
    bucket: config.TRIBUTARY_S3_BUCKET,
    region: config.TRIBUTARY_S3_REGION,
    ...(config.TRIBUTARY_S3_ENDPOINT === undefined ? {} : { endpoint: config.TRIBUTARY_S3_ENDPOINT }),
    ...credentialsOf(config),
  }).catch((error: unknown) => {
    throw toRefusal('S3', 'TRIBUTARY_S3_BUCKET', error)
  })
  onClose('audit store', () => audit.close())
  checks.object_storage = () => audit.checkHealth()
  return audit
}

function credentialsOf(config: S3Config) {
  const { TRIBUTARY_S3_ACCESS_KEY_ID: accessKeyId, TRIBUTARY_S3_SECRET_ACCESS_KEY: secretAccessKey } = config
  if (accessKeyId === undefined || secretAccessKey === undefined) return {}
  return { credentials: { accessKeyId, secretAccessKey } }
}

/** Audit objects in a bucket. */
export const s3Engine: Resource<RewritableAuditStore, (typeof s3Settings)[number], 'TRIBUTARY_S3_BUCKET'> = {
  binding: 'object_storage',
  settings: s3Settings,
  required: ['TRIBUTARY_S3_BUCKET'],
  open: openS3,
}
