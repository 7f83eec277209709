import type { WholeRecord } from '@tributary/broker/broker'

/**
 * Records of one topic as few values. To hand a thousand records to another thread takes many times as long: each
 * buffer costs it microseconds.
 */
export interface PackedRecords {
  topic: string
  keys: WholeRecord['key'][]
  /** The different headers. */
  headers: WholeRecord['headers'][]
  /** Three for each record: its partition, the index of its headers, and the end of its value in `values`. */
  numbers: Uint32Array
  values: Buffer
}

/** Headers count as the same where they are one object. */
export function packRecords(topic: string, records: readonly Omit<WholeRecord, 'topic'>[]): PackedRecords {
  const headers = [...new Set(records.map((record) => record.headers))]
  const indexOf = new Map(headers.map((own, index) => [own, index]))
  const numbers = new Uint32Array(3 * records.length)
  let end = 0
  for (const [n, { partition, headers, value }] of records.entries()) {
    end += value.length
    numbers.set([partition, indexOf.get(headers)!, end], 3 * n)
  }
  const values = Buffer.concat(
    records.map(({ value }) => value),
    end,
  )
  return { topic, keys: records.map(({ key }) => key), headers, numbers, values }
}

/** The records again. Their values are views of `values`. */
export function unpackRecords({ topic, keys, headers, numbers, values }: PackedRecords): WholeRecord[] {
  let from = 0
  return keys.map((key, n) => {
    const end = numbers[3 * n + 2]!
    const value = values.subarray(from, end)
    from = end
    return { topic, partition: numbers[3 * n]!, key, headers: headers[numbers[3 * n + 1]!], value }
  })
}
