import { hash } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import type { CvSchema, CvVersion } from '@tributary/contracts/postback/cv-schema'
import { type KeptLookupsOptions, openKeptLookups } from '../credentials/kept-lookups.ts'
import type { CvSchemas, LiveSchema, LiveSchemas } from './cv-schemas.ts'

type Postbacks = CvSchema['postbacks']

interface VersionsRow {
  app_id: string
  company_id: string
  /** Oldest first; null when none was published. */
  versions: { version: number; published_at_ms: number; postbacks: Postbacks }[] | null
}

const channels = ['cv_schemas_changed'] as const
const none: readonly CvVersion[] = []

/** All schemas from memory over PostgreSQL (promises: see `CvSchemas`). It resolves at once. */
export async function openCvSchemas(options: KeptLookupsOptions): Promise<CvSchemas> {
  const lookups = openKeptLookups({ name: 'cv_schemas', channels }, options)
  const { find } = lookups.keep(async (app_ids) => {
    const { rows } = await options.pool.query<VersionsRow>({
      name: 'cv_schemas',
      text: `SELECT a.app_id, a.company_id,
               (SELECT json_agg(json_build_object('version', s.version, 'postbacks', s.postbacks,
                          'published_at_ms', floor(extract(epoch FROM s.published_at) * 1000)) ORDER BY s.version)
                FROM (SELECT * FROM cv_schemas WHERE app_id = a.app_id ORDER BY version DESC LIMIT $2) s) AS versions
             FROM apps a WHERE a.app_id = ANY($1::text[])`,
      values: [app_ids, limits.cv_schemas_kept_max],
    })
    return new Map(rows.map((row) => [row.app_id, row]))
  }, toVersions)
  return { find: async (app_id) => (await find(app_id))?.versions ?? none, close: lookups.close }
}

function toVersions({ company_id, versions }: VersionsRow): { company_id: string; versions: readonly CvVersion[] } {
  const all = (versions ?? []).map(({ version, published_at_ms, postbacks }) => {
    return { version, published_at_ms, schema: { version, postbacks } }
  })
  return { company_id, versions: all }
}

interface LiveRow {
  app_id: string
  company_id: string
  version: number | null
  postbacks: Postbacks | null
}

/** The newest schemas from memory over PostgreSQL (promises: see `LiveSchemas`). It resolves at once. */
export async function openLiveSchemas(options: KeptLookupsOptions): Promise<LiveSchemas> {
  const lookups = openKeptLookups({ name: 'live_schemas', channels }, options)
  const { find } = lookups.keep(async (app_ids) => {
    const { rows } = await options.pool.query<LiveRow>({
      name: 'live_schemas',
      text: `SELECT a.app_id, a.company_id, s.version, s.postbacks
             FROM apps a LEFT JOIN LATERAL (SELECT version, postbacks FROM cv_schemas
               WHERE app_id = a.app_id AND a.platform = 'ios' ORDER BY version DESC LIMIT 1) s ON true
             WHERE a.app_id = ANY($1::text[])`,
      values: [app_ids],
    })
    return new Map(rows.map((row) => [row.app_id, row]))
  }, toLiveSchema)
  return { find, close: lookups.close }
}

/** Gateways of one version of the code make the same bytes and the same tag. */
export function toLiveSchema({ app_id, company_id, version, postbacks }: LiveRow): LiveSchema {
  const schema = postbacks === null ? null : { version, postbacks }
  const body = Buffer.from(JSON.stringify({ app_id, version, schema }))
  return { app_id, company_id, version, body, etag: `"${hash('sha256', body, 'base64url')}"` }
}
