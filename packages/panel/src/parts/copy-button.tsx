import { useState } from 'react'
import { Button } from 'react-aria-components'

/** Copies a text, and says so. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2000)
  }
  return (
    <Button className="button small" onPress={() => void copy()}>
      <span aria-live="polite">{copied ? 'Copied' : label}</span>
    </Button>
  )
}

/** A text to copy, such as a key or a command. */
export const Snippet = ({ text, label }: { text: string; label: string }) => (
  <figure className="snippet">
    <figcaption>
      {label}
      <CopyButton text={text} />
    </figcaption>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard */}
    <pre tabIndex={0} role="region" aria-label={label}>
      <code>{text}</code>
    </pre>
  </figure>
)
