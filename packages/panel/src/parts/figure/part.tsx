import type { ReactNode } from 'react'

interface PartProps {
  title: string
  help: string
  /** Its rows are those of an earlier request. */
  stale?: boolean
  children: ReactNode
}

/** A titled table of an answer that is no report. */
export const Part = ({ title, help, stale = false, children }: PartProps) => (
  <section className="figure" aria-label={title} data-stale={stale || undefined}>
    <div>
      <h2>{title}</h2>
      <p className="quiet">{help}</p>
    </div>
    {children}
  </section>
)
