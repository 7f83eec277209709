import { Button } from 'react-aria-components'
import { count } from '../../api/numbers.ts'
import { Fault } from '../../parts/fault.tsx'
import { Sure } from '../../parts/sure.tsx'
import { useSetWords } from '../../shell/words.ts'
import { Deliveries } from './deliveries.tsx'
import { PartnerForm } from './partner-form.tsx'
import { PartnerState } from './partner-state.tsx'
import { type Partner, usePartner } from './query.ts'
import { texts } from './texts.ts'

/** The settings of a partner, the actions on it, and its deliveries. */
export function OnePartner({ partner }: { partner: Partner }) {
  const { app_id, partner: name, dead } = partner
  const setWords = useSetWords()
  const { test, retry, remove } = usePartner(partner)
  const tested = test.data?.delivery
  return (
    <section className="card" aria-label={name}>
      <div className="line">
        <h2 className="wrap">{name}</h2>
        <PartnerState partner={partner} />
        <div className="line end">
          {dead > 0 && (
            <Button className="button small" isPending={retry.isPending} onPress={() => retry.mutate(undefined)}>
              {texts.retry}
            </Button>
          )}
          <Button className="button small" isPending={test.isPending} onPress={() => test.mutate(undefined)}>
            {texts.test}
          </Button>
          <Sure
            action={texts.remove}
            subject={name}
            help={texts.removeHelp}
            work={async () => {
              await remove.mutateAsync(undefined)
              setWords({ open: undefined }, { replace: true })
            }}
          />
          <Button className="button small" onPress={() => setWords({ open: undefined })}>
            {texts.close}
          </Button>
        </div>
      </div>
      {test.error !== null && <Fault error={test.error} />}
      {retry.error !== null && <Fault error={retry.error} />}
      {retry.data !== undefined && <p role="status">{texts.retried(count(retry.data.retried))}</p>}
      {tested !== undefined && (
        <p role="status">
          {texts.test}: {texts.outcomes[tested.outcome]}
          {[tested.status, tested.reason?.replaceAll('_', ' '), tested.answer]
            .filter((part) => part !== null && part !== undefined && part !== '')
            .map((part) => `, ${part}`)}
        </p>
      )}
      <PartnerForm app_id={app_id} partner={partner} />
      <Deliveries app_id={app_id} partner={name} />
    </section>
  )
}
