import type { Shot } from '../shot.ts'

/** A link and a honeypot link of one company. */
export interface DocumentedLinks {
  link_id: string
  trap_id: string
}

const route = 'GET /l/{link_id}'
const phone = 'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/119.0.0.0 Mobile Safari/537.36'

/** Every code of a tracking link, in an order that brings each about. The links are of two companies. */
export function linkShots(clicked: DocumentedLinks, trapped: DocumentedLinks): Shot[] {
  const click = (link_id: string, code: string, query = ''): Shot => ({
    ...{ route, code, path: `/l/${link_id}${query}`, headers: { 'user-agent': phone } },
  })
  return [
    click('nothing', 'not_found'),
    click(clicked.link_id, 'ok', '?click_id=1&sub1=a'),
    click(trapped.trap_id, 'not_found'),
    click(trapped.link_id, 'ok'), // the address is blocked, and the person reaches the store
    { ...click(trapped.link_id, 'unavailable'), headers: { 'user-agent': phone, 'sec-purpose': 'prefetch' } },
    { ...click(trapped.link_id, 'ok'), headers: { 'user-agent': 'curl/8.5.0' } },
  ]
}
