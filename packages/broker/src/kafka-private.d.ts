declare module 'kafkajs/src/network/requestQueue/index.js' {
  export default class RequestQueue {
    pending: unknown[]
    scheduleCheckPendingRequests(): void
  }
}
