/** A line of a chart: its key in each point, and its name, which people may have typed. */
export interface Series {
  key: string
  name: string
  dashed?: boolean
}

export type Point = { day: string } & Record<string, number | string | null>
