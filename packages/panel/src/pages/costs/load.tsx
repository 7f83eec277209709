import { serverNow } from '../../api/clock.ts'
import { routes } from '../../api/declared/routes.ts'
import { publicUrl } from '../../api/public-address.ts'
import { day_ms, toDay } from '../../api/range.ts'
import { Snippet } from '../../parts/copy-button.tsx'
import { useApp } from '../../shell/session.ts'
import { texts } from './texts.ts'

/** How costs get here. A key is never shown: who has one puts it in. */
export function Load() {
  const { app_id } = useApp()
  const day = toDay(serverNow() - day_ms)
  const { method, path } = routes.putCosts
  const cost = { day, partner: 'acme', campaign: 'spring', country: 'DE', cost: 120.5, currency: 'EUR', clicks: 410 }
  return (
    <section className="figure" aria-label={texts.load}>
      <div>
        <h2>{texts.load}</h2>
        <p className="quiet">
          {texts.loadHelp} <a href="/docs#costs-of-ads">{texts.more}</a>
        </p>
      </div>
      <Snippet
        label={texts.key}
        text={`COSTS_KEY=$(npx tributary key create --app ${app_id} --label costs --scope costs:write --json | jq -r .key)`}
      />
      <Snippet
        label={texts.file}
        text={`npx tributary cost load --key "$COSTS_KEY" spend.csv --map date=day --map spend=cost --set currency=EUR`}
      />
      <Snippet
        label={texts.request}
        text={[
          `curl -sS -X ${method} ${publicUrl()}${path} -H "Authorization: Bearer $COSTS_KEY" \\`,
          `  -H 'Content-Type: application/json' -d '{"as_of_ms":'$(date +%s)'000,"costs":[`,
          `  ${JSON.stringify(cost)}]}'`,
        ].join('\n')}
      />
    </section>
  )
}
