/** A name directly below a folder of keys. */
export type Listed =
  | { kind: 'folder' /** Ends with a slash. */; folder: string }
  | {
      kind: 'object'
      /** Null if the store knows only the hash of the name, because it was too long. */
      key: string | null
      /** Null when the object was removed since it was listed. */
      read(): Promise<Buffer | null>
      /** Resolves when the object is gone for good, also when it was removed before. */
      remove(): Promise<void>
    }
  | { kind: 'erased' /** Removes what `erase` left of an object. */; remove(): Promise<void> }

/** An object as `list` gives it. */
export type StoredObject = Extract<Listed, { kind: 'object' }>

/** Write-once objects: S3, or its embedded twin, a folder. */
export interface AuditStore {
  /** Minimum time between two objects of a busy app in group commit, ms: longer where an object costs more. */
  readonly group_rest_ms?: number
  /** Resolves once the object is durable under exactly this key; `exists` leaves the old content untouched. */
  putOnce(key: string, content: Buffer): Promise<'created' | 'exists'>
  /** The object; else what `erase` left of it; else null. */
  get(key: string): Promise<Buffer | null>
  /**
   * The objects and folders directly below a folder (empty, or a prefix of keys that ends with a slash), in no order: to order them, a
   * file system would have to hold all names in memory. What is put meanwhile may be left out.
   */
  list(folder: string): AsyncIterable<Listed>
  checkHealth(): Promise<void>
  close(): Promise<void>
}

/** `changed`: the object is not what the caller has read, or is gone. Nothing was done. */
export type Rewritten = 'done' | 'changed'

/**
 * Audit objects that erasures and retention may rewrite (docs/decisions/erasure.md#the-eraser-replaces-objects). A crash at any point
 * leaves the old object or the new one, whole; the same call then completes it. `previous` is the object as the caller has read it.
 */
export interface RewritableAuditStore extends AuditStore {
  /**
   * Puts a new version of an object, durably, then removes every older one. With `content` equal to `previous` it only removes what an
   * interrupted call has left.
   */
  replace(key: string, previous: Buffer, content: Buffer): Promise<Rewritten>
  /**
   * Removes an object whose name, too, may say something of a person. `rest` is stored under a hash of the name, and `get` of the key
   * returns it until the key is put anew.
   */
  erase(key: string, previous: Buffer, rest: Buffer): Promise<Rewritten>
}
