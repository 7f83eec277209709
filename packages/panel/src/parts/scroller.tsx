import type { ReactNode } from 'react'

/** A part that scrolls inside itself. The keyboard must reach it too. */
export const Scroller = ({ label, className, children }: { label: string; className: string; children: ReactNode }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: without it nobody scrolls this by keyboard
  <section className={className} aria-label={label} tabIndex={0}>
    {children}
  </section>
)
