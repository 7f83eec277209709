import { encodeQR } from 'qr'
import { useRef } from 'react'
import { Button } from 'react-aria-components'

interface QrCodeProps {
  text: string
  /** What a phone opens. */
  label: string
  /** The name of a saved file, without its end; absent: nothing to save, such as a secret. */
  file?: string
}

/** A text as a QR code: dark on light in any colours, with the quiet zone that cameras need. */
export default function QrCode({ text, label, file }: QrCodeProps) {
  const svg = useRef<SVGSVGElement>(null)
  const rows = encodeQR(text, 'raw', { border: 4, ecc: 'medium' })
  const dark = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  const save = () => {
    const content = new XMLSerializer().serializeToString(svg.current!)
    const address = URL.createObjectURL(new Blob([content], { type: 'image/svg+xml' }))
    const link = Object.assign(document.createElement('a'), { href: address, download: `${file}.svg` })
    link.click()
    URL.revokeObjectURL(address)
  }
  return (
    <div className="qr">
      <svg
        ref={svg}
        xmlns="http://www.w3.org/2000/svg"
        viewBox={`0 0 ${rows.length} ${rows.length}`}
        role="img"
        aria-label={label}
        shapeRendering="crispEdges"
      >
        <path fill="#fff" d={`M0 0h${rows.length}v${rows.length}h-${rows.length}z`} />
        <path fill="#000" d={dark} />
      </svg>
      {file !== undefined && (
        <Button className="button small" onPress={save}>
          Save as SVG
        </Button>
      )}
    </div>
  )
}
