/** A request as a client sends it. `{{name}}` stands for what an earlier answer gave, in any text of it. */
export interface SendStep {
  /** What the clock of the product says, ISO 8601 in UTC. It may be before the step before: somebody set it back. */
  at: string
  /** `POST /event` */
  send: string
  headers?: Record<string, string>
  /** A text is sent as it is, anything else as JSON. */
  body?: unknown
  gzip?: true
  /** `company/app`, by the names under which earlier steps kept their keys: signs as the SDK of that app. */
  as?: string
  /** A kept server key for `Authorization`. */
  key?: string
  ip?: string
  agent?: string
  /** Signs `body` as a device of Apple does: a version of SKAdNetwork, or the `kid` of an AdAttributionKit key. */
  apple?: string
  /** Names of what later steps and outcomes call `{{name}}`, each with the field of the answer that holds it. */
  keep?: Record<string, string>
  /** Keeps the click that a redirect names: `{{name}}` with its signature, `{{name.id}}` without. */
  keep_click?: string
  /** The request so many times, `{{n}}` from 0: the clock moves by `every_ms` each time, or several are under way at once. */
  times?: number
  every_ms?: number
}

/** Waits until all that was accepted is written and decided, and with `jobs` until every job has looked at it as well. */
interface SettleStep {
  at: string
  settle: 'written' | 'jobs'
}

/** Stores the figures of days that have changed. */
interface FiguresStep {
  at: string
  figures: true
}

/** A run of the eraser, as by `tributary erase run`. */
interface EraseStep {
  at: string
  erase: true
}

interface RestartStep {
  at: string
  restart: true
}

/** Many questions to the reports of one app. */
interface AskStep {
  at: string
  ask: Ask
}

export interface Ask {
  key: string
  /** The window of most questions, Unix epoch ms; its edges are asked a millisecond further too. */
  since_ms: number
  until_ms: number
  /** Windows that each report is asked besides. */
  windows?: [since_ms: number, until_ms: number][]
  partners?: string[]
  event_names?: string[]
  /** Reports to read; all but `skan` where absent. */
  reports?: string[]
  /** Records to show. */
  installs?: string[]
  /** Leaves out all questions but one of each report. */
  few?: true
}

export type Step = SendStep | SettleStep | FiguresStep | EraseStep | RestartStep | AskStep

/** A line of an outcome: the answer to one request. */
export interface Answer {
  /** Place of the step in its history, from 1. */
  step: number
  asked: string
  status: number
  /** The same answer came so many times in a row. */
  times?: number
  headers?: Record<string, string>
  body?: unknown
}
