/** The service must not start as things are; the message says why and how to fix it. */
export class StartRefused extends Error {
  override name = 'StartRefused'
}
