import type { Series } from './points.ts'

const colours = ['1', '2', '3', '4', '5', '6'].map((n) => `var(--series-${n})`)
export const colourOf = (n: number): string => colours[n % colours.length]!

const shapes = [
  'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0',
  'M-3.5 -3.5h7v7h-7z',
  'M0 -4.5L4.5 3.5H-4.5z',
  'M0 -5L5 0L0 5L-5 0z',
  'M0 4.500L4.500 -3.500H-4.500z',
  'M-4 -4L4 4M4 -4L-4 4',
]

/** The marker of a line: another shape for each, because not everybody sees the colours apart. */
export const Marker = ({ n, x, y }: { n: number; x: number; y: number }) => (
  <path
    d={shapes[n % shapes.length]}
    transform={`translate(${x} ${y})`}
    fill={n % shapes.length === 5 ? 'none' : colourOf(n)}
    stroke={n % shapes.length === 5 ? colourOf(n) : 'var(--ground)'}
    strokeWidth={n % shapes.length === 5 ? 2 : 1}
  />
)

/** What is said of a period that is not over. */
export const open_name = 'until now'

/** The names of the lines, with their markers. */
export const Legend = ({ series, open }: { series: readonly Series[]; open: boolean }) => (
  <ul className="legend">
    {series.map(({ key, name }, n) => (
      <li key={key}>
        <svg width="22" height="12" viewBox="-11 -6 22 12" aria-hidden="true">
          <path d="M-11 0H11" stroke={colourOf(n)} strokeWidth="2" />
          <Marker n={n} x={0} y={0} />
        </svg>
        <span className="cut">{name}</span>
      </li>
    ))}
    {open && (
      <li className="quiet">
        <svg width="22" height="12" viewBox="-11 -6 22 12" aria-hidden="true">
          <path d="M-11 0H11" stroke="var(--quiet)" strokeWidth="2" strokeDasharray="4 4" />
        </svg>
        {open_name}
      </li>
    )}
  </ul>
)
