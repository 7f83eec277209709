import type { ReactNode } from 'react'
import { none } from '../api/numbers.ts'

/** Names and values. An absent value is `-`. */
export const Facts = ({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) => (
  <dl className="facts">
    {facts.map(([name, value]) => (
      <div key={name} className="fact">
        <dt>{name}</dt>
        <dd>{value === null || value === undefined || value === '' ? none : value}</dd>
      </div>
    ))}
  </dl>
)
