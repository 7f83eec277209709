import { Area, AreaChart, ResponsiveContainer } from 'recharts'

/** The course of a figure, without axes: the figure beside it has the number. */
export default function Sparkline({ values }: { values: readonly (number | null)[] }) {
  return (
    <div className="sparkline" aria-hidden="true">
      <ResponsiveContainer width="100%" height={40}>
        <AreaChart
          data={values.map((value, n) => ({ n, value }))}
          margin={{ top: 3, right: 0, bottom: 1, left: 0 }}
          accessibilityLayer={false}
        >
          <Area
            dataKey="value"
            type="linear"
            stroke="var(--accent)"
            strokeWidth={1.5}
            fill="var(--accent-soft)"
            isAnimationActive={false}
            dot={false}
            activeDot={false}
          />
        </AreaChart>
      </ResponsiveContainer>
    </div>
  )
}
