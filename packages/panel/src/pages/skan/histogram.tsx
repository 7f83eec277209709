import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts'
import { compact, count } from '../../api/numbers.ts'
import type { Bar as Value } from './chart.ts'
import { texts } from './texts.ts'

const axis = { tickLine: false, tick: { fill: 'var(--quiet)', fontSize: 12 } }

/** A bar for each conversion value. */
export default function Histogram({ values, summary }: { values: readonly Value[]; summary: string }) {
  return (
    <div className="chart">
      <ResponsiveContainer width="100%" height={220}>
        <BarChart
          data={values as Value[]}
          margin={{ top: 8, right: 24, bottom: 0, left: 0 }}
          title={summary}
          barCategoryGap={1}
        >
          <CartesianGrid vertical={false} stroke="var(--line)" />
          <XAxis
            {...axis}
            dataKey="value"
            ticks={[0, 7, 14, 21, 28, 35, 42, 49, 56, 63]}
            axisLine={{ stroke: 'var(--line-strong)' }}
            minTickGap={16}
          />
          <YAxis {...axis} width="auto" axisLine={false} allowDecimals={false} tickFormatter={compact} />
          <Tooltip
            cursor={{ fill: 'var(--hover)' }}
            isAnimationActive={false}
            content={({ active, payload, label }) =>
              active ? (
                <div className="tip">
                  <p>
                    {texts.value} {label}
                  </p>
                  <dl>
                    <div>
                      <dt>{texts.postbacks}</dt>
                      <dd className="number">{count(Number(payload?.[0]?.value))}</dd>
                    </div>
                  </dl>
                </div>
              ) : null
            }
          />
          <Bar dataKey="postbacks" fill="var(--series-1)" isAnimationActive={false} minPointSize={0} />
        </BarChart>
      </ResponsiveContainer>
    </div>
  )
}
