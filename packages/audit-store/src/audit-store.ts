/** A name directly below a folder of keys. */
export type Listed =
  | { kind: 'folder' /** Ends with a slash. */; folder: string }
  | {
      kind: 'object'
      /** Null where the store knows only the hash of a long name. */
      key: string | null
      /** Null when the object was removed since it was listed. */
      read(): Promise<Buffer | null>
      /** The object is gone for good when it resolves; also when it was removed before. */
      remove(): Promise<void>
    }

/** Write-once objects: S3, or its embedded twin, a folder. */
export interface AuditStore {
  /** Minimum time between two objects of a busy app in group commit, ms: longer where an object costs more. */
  readonly group_rest_ms?: number
  /** Resolves once the object is durable under exactly this key; `exists` leaves the old content untouched. */
  putOnce(key: string, content: Buffer): Promise<'created' | 'exists'>
  /** The object, or null. */
  get(key: string): Promise<Buffer | null>
  /**
   * What lies directly below a folder (empty, or a prefix of keys that ends with a slash), in no particular order: a
   * file system would have to hold all names to order them. What is put meanwhile may be left out.
   */
  list(folder: string): AsyncIterable<Listed>
  checkHealth(): Promise<void>
  close(): Promise<void>
}
