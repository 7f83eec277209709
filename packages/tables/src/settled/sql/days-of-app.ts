/** Whose days a statement is about, as SQL: placeholders in reports, and literals in the settler. */
export interface DaysOfApp {
  /** A string. */
  app_id: string
  /** A set of days, right of `IN`. */
  days: string
  /** A condition on the `time_column` of the figure: the edges of a window. Absent: whole days. */
  moments?: string
}

/** SQL condition for the rows of a table with days. */
export const onDays = ({ app_id, days, moments }: DaysOfApp): string =>
  `app_id = ${app_id} AND day IN ${days}${moments === undefined ? '' : ` AND ${moments}`}`
