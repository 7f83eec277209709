import { Label, Meter } from 'react-aria-components'
import { count, rate } from '../../api/numbers.ts'
import { texts } from './texts.ts'

/** What the company used of its events of the month. */
export function Quota({ used, monthly_quota }: { used: number; monthly_quota: number | null }) {
  if (monthly_quota === null)
    return (
      <p className="quiet">
        {texts.quota}: <span className="number">{count(used)}</span> events. {texts.unlimited}.
      </p>
    )
  return (
    <Meter
      className="meter"
      value={used}
      maxValue={monthly_quota}
      valueLabel={`${count(used)} of ${count(monthly_quota)} events`}
    >
      {({ valueText, percentage }) => (
        <>
          <div className="meter-head">
            <Label>{texts.quota}</Label>
            <span className="quiet number">
              {valueText} ({rate(percentage / 100)})
            </span>
          </div>
          <progress aria-hidden="true" max={100} value={percentage} />
        </>
      )}
    </Meter>
  )
}
