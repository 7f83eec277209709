import type { AttentionItem, AttentionList } from '@tributary/contracts/admin/attention'
import { limits } from '@tributary/contracts/limits'

/** The content of a notice. `left_out`: number of items beyond `attention_notice_items_max`. */
export interface Notice extends AttentionList {
  sent_at_ms: number
  left_out: number
}

/** The notice of a list. Names that tenants chose are in its messages: each is one line, and not long. */
export function noticeOf({ items, unchecked }: AttentionList, sent_at_ms: number): Notice {
  const shown = items.slice(0, limits.attention_notice_items_max)
  const left_out = items.length - shown.length
  return { sent_at_ms, items: shown.map((item) => ({ ...item, message: oneLine(item.message) })), unchecked, left_out }
}

/** Without line breaks and characters that nobody sees, such as those that reverse the direction of a text. */
function oneLine(text: string): string {
  const clean = text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, ' ')
  const max = limits.attention_notice_chars_max
  return clean.length <= max ? clean : `${clean.slice(0, max - 1).toWellFormed()}…`
}

/** Things that a list has to say. What could not be looked at is one: no item of it is no proof. */
export const entriesOf = ({ items, unchecked }: AttentionList): number => items.length + unchecked.length

/** A notice as a mail. No text of tenants is in its subject. */
export function noticeMail(notice: Notice, origin: string): { subject: string; text: string } {
  const count = notice.items.length + notice.left_out
  const [subject, first] =
    entriesOf(notice) === 0
      ? ['Tributary: nothing needs attention any more', 'Nothing needs attention any more']
      : [`Tributary: ${countOf(count)} attention`, `${capital(countOf(count))} attention`]
  const at = new Date(notice.sent_at_ms).toISOString()
  const paragraphs = [
    `${first} (${at}).`,
    ...notice.items.map((item, index) => `${index + 1}. ${itemText(item, origin)}`),
    ...(notice.left_out === 0 ? [] : [`${notice.left_out} more are not listed here.`]),
    ...(notice.unchecked.length === 0 ? [] : [`Could not be looked at: ${notice.unchecked.join(', ')}.`]),
    `The list of now: ${origin}/admin/`,
  ]
  return { subject, text: `${paragraphs.join('\n\n')}\n` }
}

const countOf = (count: number) =>
  count === 0
    ? 'some facts could not be looked at, nothing else needs'
    : count === 1
      ? '1 thing needs'
      : `${count} things need`
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

function itemText({ code, company_id, app_id, since_ms, message, fix, docs }: AttentionItem, origin: string): string {
  const facts = [
    ...(company_id === null ? [] : [`company ${company_id}`]),
    ...(app_id === null ? [] : [`app ${app_id}`]),
    ...(since_ms === null ? [] : [`since ${new Date(since_ms).toISOString()}`]),
  ]
  return [message, `[${[code, ...facts].join(', ')}]`, fix, origin + docs]
    .map((line) => `   ${line}`)
    .join('\n')
    .trimStart()
}
