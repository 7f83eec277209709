import { Suspense } from 'react'
import { Button, Form } from 'react-aria-components'
import { isFault, useConfirmed } from '../../parts/confirmed.tsx'
import { Snippet } from '../../parts/copy-button.tsx'
import { Fault } from '../../parts/fault.tsx'
import { QrCode } from '../../parts/figure/charts.tsx'
import { givenOf } from '../../parts/given.ts'
import { Skeleton } from '../../parts/skeleton.tsx'
import { TextInput } from '../../parts/text-input.tsx'
import { usePlace } from '../../shell/session.ts'
import { useConfirmTotp, useDisableTotp, useOfferTotp } from './query.ts'
import { texts } from './texts.ts'

/** Sets the second factor up, with its recovery codes, or takes it away. Each step needs a fresh password. */
export function SecondFactor() {
  const { me } = usePlace()
  const { run, dialog } = useConfirmed()
  const offer = useOfferTotp()
  const confirm = useConfirmTotp()
  const disable = useDisableTotp()
  const error = [offer.error, confirm.error, disable.error].find(isFault)
  const done = confirm.data !== undefined
  return (
    <section className="card" aria-label={texts.factor}>
      <div className="line">
        <h2>{texts.factor}</h2>
        <span className={`pill ${me.second_factor ? 'good' : ''}`} role="status">
          {me.second_factor ? texts.factorOn : texts.factorOff}
        </span>
        {me.second_factor && <span className="quiet">{texts.left(me.recovery_codes_left)}</span>}
      </div>
      <p className="quiet">{texts.factorHelp}</p>
      {confirm.data !== undefined && <Snippet label={texts.codes} text={confirm.data.recovery_codes.join('\n')} />}
      {offer.data !== undefined && !done && (
        <>
          <div className="beside">
            <div className="form">
              <Snippet label={texts.secret} text={offer.data.secret} />
              <Snippet label={texts.uri} text={offer.data.uri} />
            </div>
            <Suspense fallback={<Skeleton shape="code" />}>
              <QrCode text={offer.data.uri} label={texts.scan} />
            </Suspense>
          </div>
          <Form
            className="filters"
            onSubmit={(event) => {
              event.preventDefault()
              const code = givenOf(event.currentTarget)('code') ?? ''
              run(() => confirm.mutateAsync(code))
            }}
          >
            <TextInput
              name="code"
              label={texts.code}
              autoComplete="one-time-code"
              inputMode="numeric"
              isRequired
              autoFocus
              mono
            />
            <Button type="submit" className="button primary" isPending={confirm.isPending}>
              {texts.confirm}
            </Button>
          </Form>
        </>
      )}
      {error !== undefined && <Fault error={error} />}
      {(offer.data === undefined || done) && (
        <div className="line">
          <Button
            className="button"
            isPending={offer.isPending}
            onPress={() => {
              confirm.reset()
              run(() => offer.mutateAsync(undefined))
            }}
          >
            {me.second_factor ? texts.offerAgain : texts.offer}
          </Button>
          {me.second_factor && (
            <>
              <Button
                className="button danger"
                isPending={disable.isPending}
                onPress={() => run(() => disable.mutateAsync(undefined))}
              >
                {texts.disable}
              </Button>
              <span className="quiet">{texts.disableHelp}</span>
            </>
          )}
        </div>
      )}
      {dialog}
    </section>
  )
}
