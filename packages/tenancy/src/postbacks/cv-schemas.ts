import type { CvVersion } from '@tributary/contracts/postback/cv-schema'

/** The newest schema of an app, as its answer to clients. */
export interface LiveSchema {
  app_id: string
  company_id: string
  /** Null when none was published. */
  version: number | null
  /** `{app_id, version, schema}` as JSON. */
  body: Buffer
  /** Entity tag of the body, with its quotes. */
  etag: string
}

/** Published schemas by app, kept in memory like credentials (promises: see `Credentials`). */
export interface CvSchemas {
  /** All versions that a process knows (`limits.cv_schemas_kept_max`), oldest first; empty for an unknown app. */
  find(app_id: string): Promise<readonly CvVersion[]>
  close(): Promise<void>
}

/** The newest schemas by app, kept in the same way; null for an unknown app. */
export interface LiveSchemas {
  find(app_id: string): Promise<LiveSchema | null>
  close(): Promise<void>
}
