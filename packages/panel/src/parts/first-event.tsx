import { useQuery } from '@tanstack/react-query'
import { routes } from '../api/declared/routes.ts'
import { publicUrl } from '../api/public-address.ts'
import { routeQuery } from '../api/queries.ts'
import type { App } from '../shell/session.ts'
import { usePlace } from '../shell/session.ts'
import { Snippet } from './copy-button.tsx'

interface FirstEventProps {
  app: Pick<App, 'app_id' | 'app_key' | 'company_id'>
  /** Known only right after it was made. */
  signing_secret?: string | undefined
}

/** The first signed request of an app, with its real keys. */
export function FirstEvent({ app, signing_secret }: FirstEventProps) {
  const { companies } = usePlace()
  const company = useQuery({
    ...routeQuery('getCompany', { params: { id: app.company_id } }),
    initialData: companies.find(({ company_id }) => company_id === app.company_id),
  })
  return (
    <>
      <Snippet
        label="A first event, signed"
        text={commandOf({
          company_key: company.data?.company_key ?? '$COMPANY_KEY',
          app_key: app.app_key,
          signing_secret: signing_secret ?? '$SIGNING_SECRET',
        })}
      />
      {signing_secret === undefined && (
        <p className="quiet">
          Set <code>SIGNING_SECRET</code> to the signing secret of this app, which was shown when it was made. Demo
          Android's is in <code>.tributary/demo.env</code>.
        </p>
      )}
    </>
  )
}

interface EventKeys {
  company_key: string
  app_key: string
  signing_secret: string
}

const commandOf = ({ company_key, app_key, signing_secret }: EventKeys): string =>
  [
    `BODY='{"sent_at_ms":'$(date +%s)'000,"events":[{"event_id":"first-'$RANDOM$RANDOM'","event_name":"app_install","install_uuid":"first-'$RANDOM$RANDOM'"}]}'`,
    `SIGNATURE=$(printf '%s' "$BODY" | openssl dgst -sha256 -hmac "${signing_secret}" -r | cut -d' ' -f1)`,
    `curl -sS ${publicUrl()}${routes.sendBatch.path} -H 'Content-Type: application/json' \\`,
    `  -H 'X-Service-Company-Key: ${company_key}' -H 'X-Service-App-Key: ${app_key}' \\`,
    `  -H "X-Service-Signature: $SIGNATURE" --data-binary "$BODY"`,
  ].join('\n')
