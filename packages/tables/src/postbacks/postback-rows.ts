import { JudgedPostback } from '@tributary/contracts/postback/judged'
import { PostbackReceived } from '@tributary/contracts/postback/received'
import { utcDay } from '@tributary/domain/utc-day'

/** Position of a postback on the log; `topic` with the identity of the log. */
export interface PostbackPlace {
  topic: string
  partition: number
  offset: number
}

const place = ['topic', 'partition', 'offset'] as const

/** The columns of an insert into `postbacks_raw_v1`, in the order of a line. */
export const rawColumns = ['day', ...PostbackReceived.omit({ v: true }).keyof().options, ...place] as const

/** A line of an insert into `postbacks_raw_v1`. */
export function rawLine(received: PostbackReceived, at: PostbackPlace): string {
  const row: Record<(typeof rawColumns)[number], unknown> = {
    ...{ ...received, ...at, day: utcDay(received.received_at_ms) },
  }
  return lineOf(rawColumns, row)
}

/** The columns of an insert into `postbacks_decoded_v1`, in the order of a line. */
export const decodedColumns = [
  ...(['day', 'received_at_ms'] as const),
  ...JudgedPostback.keyof().options,
  ...(['judged_at_ms', 'judged_by', 'moved'] as const),
  ...place,
] as const

/** A judgement as `postbacks_decoded_v1` holds it. */
export interface DecodedRow {
  judged: JudgedPostback
  place: PostbackPlace
  received_at_ms: number
  /** Unix epoch ms; the newest judgement of a postback that some key could make counts. */
  judged_at_ms: number
  /** Fingerprint of the keys. */
  judged_by: string
  /** True for the end of a row whose postback has another advertised item id now. */
  moved?: boolean
}

/** A line of an insert into `postbacks_decoded_v1`. */
export function decodedLine(decoded: DecodedRow): string {
  const { judged, place: at, received_at_ms, judged_by, moved = false } = decoded
  const row: Record<(typeof decodedColumns)[number], unknown> = {
    ...{ ...judged, ...at, received_at_ms, judged_by },
    judged_at_ms: versionOf(decoded),
    day: utcDay(received_at_ms),
    moved: Number(moved),
    environment: judged.environment ?? '',
    key: judged.key ?? '',
    advertised_item_id: itemNumber(judged.advertised_item_id),
    publisher_item_id: itemNumber(judged.publisher_item_id),
    redownload: bit(judged.redownload),
    did_win: bit(judged.did_win),
    re_engagement: bit(judged.re_engagement),
  }
  return lineOf(decodedColumns, row)
}

/**
 * The judgement with the highest version counts, and the one inserted last among equals. One that no key could make
 * gives way to any other: it may come later, from a process or a release that knows fewer keys.
 */
const versionOf = ({ judged: { verdict }, moved, received_at_ms, judged_at_ms }: DecodedRow): number =>
  verdict === 'unverifiable' && moved !== true ? received_at_ms : Math.max(judged_at_ms, received_at_ms + 1)

const bit = (value: boolean | null): number | null => (value === null ? null : Number(value))

/** An item id of a judgement as its column holds it: 0 stands for none. */
export const itemNumber = (digits: string): string => (digits === '' ? '0' : digits)

/** ClickHouse refuses a lone surrogate, which a stranger may send. */
const lineOf = <Column extends string>(columns: readonly Column[], row: Record<Column, unknown>): string =>
  JSON.stringify(
    columns.map((name) => {
      const value = row[name]
      return typeof value === 'string' ? value.toWellFormed() : value
    }),
  )
