/** Write-once objects: S3, or its embedded twin, a folder. */
export interface AuditStore {
  /** Resolves once the object is durable under exactly this key; `exists` leaves the old content untouched. */
  putOnce(key: string, content: Buffer): Promise<'created' | 'exists'>
  /** The object, or null. */
  get(key: string): Promise<Buffer | null>
  checkHealth(): Promise<void>
  close(): Promise<void>
}
