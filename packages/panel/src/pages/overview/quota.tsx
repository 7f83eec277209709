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
  const percentage = rate(used < monthly_quota ? used / monthly_quota : 1)
  const valueText = `${count(used)} of ${count(monthly_quota)} events`
  return (
    <div className="meter">
      <div className="meter-head">
        <span id="quota">{texts.quota}</span>
        <span className="quiet number">
          {valueText} ({percentage})
        </span>
      </div>
      <progress aria-labelledby="quota" aria-valuetext={valueText} max={monthly_quota} value={used} />
    </div>
  )
}
