/** An audit object of one request: `head` as `auditHead` makes it, the body's own bytes, `}`. */
export const auditObject = (head: string, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(head), body, Buffer.from('}')])
