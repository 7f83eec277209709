/** Limits of traces (docs/operations.md#traces). `limits` holds them with all others. */
export const traceLimits = {
  /** Records of other traces that the span of a batch links. */
  trace_links_max: 32,
  /** Characters of an attribute. */
  trace_text_chars_max: 256,
  /** Spans that wait for the collector, some 2 MB; more are lost. */
  trace_spans_waiting_max: 2048,
  /** Spans in one request to the collector, and the longest wait for it, retries included. */
  trace_spans_sent_max: 512,
  trace_send_ms_max: 5000,
  /** A span waits so long for others. */
  trace_linger_ms: 2000,
  /** Longest wait of a stop for the collector. */
  trace_close_ms_max: 2000,
} as const
