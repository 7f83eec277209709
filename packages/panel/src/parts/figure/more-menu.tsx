import type { ReportName } from '@tributary/contracts/reports'
import { Menu, MenuItem, Popover } from 'react-aria-components'
import { addressOf } from '../../api/address.ts'
import type { ReportQuery } from '../../api/call.ts'
import { publicUrl } from '../../api/public-address.ts'
import type { Opened } from '../opener.tsx'

interface MoreMenuProps extends Opened {
  report: ReportName
  app_id: string
  query: ReportQuery
}

/** The request of a figure as a file, and as a command without the key. */
export default function MoreMenu({ report, app_id, query, ...popover }: MoreMenuProps) {
  const csv = addressOf(`${report}OfApp`, { params: { app_id }, query: { ...query, format: 'csv' } })
  const curl = `curl -sS '${publicUrl()}${addressOf(`${report}Report`, { query })}' -H "Authorization: Bearer $SERVER_KEY"`
  return (
    <Popover {...popover} className="popover" placement="bottom end">
      <Menu className="list" aria-label="More" autoFocus onClose={() => popover.onOpenChange(false)}>
        <MenuItem className="list-item" href={csv} download={`${report}.csv`}>
          Download CSV
        </MenuItem>
        <MenuItem className="list-item" onAction={() => void navigator.clipboard.writeText(curl)}>
          Copy as curl
        </MenuItem>
      </Menu>
    </Popover>
  )
}
