import type { PartnerOfApp, PostbackPreview, PreviewPartner } from '@tributary/contracts/admin/partners'
import { imported } from '@tributary/contracts/attribution/verdict'
import { day_ms } from '@tributary/contracts/limits'
import type { PostbackContent } from '@tributary/contracts/partner-postback'
import { installContent } from '@tributary/domain/partner/owed'
import { fillTemplate, postbackBody, readTemplate } from '@tributary/domain/partner/template'
import { findNewest } from '@tributary/tables/attribution/verdicts'
import { listInstalls } from '@tributary/tables/rows/list-installs'
import type { AdminApiDeps } from '../deps.ts'

type PreviewDeps = Pick<AdminApiDeps, 'clickhouse' | 'now'>

/** The days whose installs are looked at. */
const days_max = 30

/** An install of a partner with what a postback says of it. */
export interface ExampleInstall {
  /** Null: made up. */
  install_uuid: string | null
  content: PostbackContent
  /** The earlier of receipt and date of its event; 0 when made up. */
  dated_at_ms: number
}

/** The newest attributed install of a partner; a made-up one if it has none. */
export async function findExample(
  { clickhouse, now }: PreviewDeps,
  { app_id, partner }: PartnerOfApp,
): Promise<ExampleInstall> {
  const window = { app_id, partner, since_ms: now() - days_max * day_ms, until_ms: now() + day_ms, reinstall: false }
  const installs = await listInstalls(clickhouse, window, { limit: 20, after: null })
  const uuid = installs.find(({ attribution_type }) => attribution_type !== imported)?.install_uuid
  const found = uuid === undefined ? undefined : (await findNewest(clickhouse, app_id, [uuid])).get(uuid)?.decision
  if (found?.verdict) {
    const { install_uuid, verdict, installed_at_ms, received_at_ms, dated_at_ms = received_at_ms } = found
    const dated = Math.min(received_at_ms, dated_at_ms)
    return { install_uuid, content: installContent({ install_uuid, verdict, installed_at_ms }), dated_at_ms: dated }
  }
  return { install_uuid: null, content: { ...made_up, event_ts_ms: now() }, dated_at_ms: 0 }
}

const made_up = {
  ...{ click_id: '0197a3b0-0000-7000-8000-000000000000', ext_click_id: 'test-click', sub1: 'sub1', sub2: 'sub2' },
  ...{ sub3: 'sub3', sub4: 'sub4', sub5: 'sub5', install_uuid: '00000000-0000-4000-8000-000000000000' },
  ...{ event_name: 'install', revenue: null, currency: null, reject_reason: null },
} satisfies Omit<PostbackContent, 'event_ts_ms'>

/** A postback as it would be sent. Its template is a good one. */
export async function previewPostback(deps: PreviewDeps, settings: PreviewPartner): Promise<PostbackPreview> {
  const template = readTemplate(settings.postback_url)
  if (typeof template === 'string') throw new Error(template)
  const { install_uuid, content } = await findExample(deps, settings)
  const { method } = settings
  const body = postbackBody(settings, content)
  const url = `${template.origin.origin}${fillTemplate(template, content)}`
  return { method, url, body: body === '' ? null : body, install_uuid }
}
