import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'

/**
 * kafkajs 2.2.4 starts its timer for throttled requests on every connection for ever, with a negative delay: a wake-up
 * each millisecond (5 to 7 % of a core at idle) and on Node 24 a `TimeoutNegativeWarning`. The timer is needed only
 * while requests are held back, so it is started only then. kafkajs is pinned, since
 * this is a private file of it.
 */
export function calmRequestQueue(): void {
  const { prototype } = RequestQueue
  if (calmed.has(prototype)) return
  calmed.add(prototype)
  const { scheduleCheckPendingRequests } = prototype
  prototype.scheduleCheckPendingRequests = function (this: RequestQueueInstance) {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this)
  }
}

type RequestQueueInstance = InstanceType<typeof RequestQueue>
const calmed = new WeakSet<object>()
