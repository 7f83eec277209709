/** The service must not start in this state; the message says why and how to fix it. */
export class StartRefused extends Error {
  override name = 'StartRefused'
}
