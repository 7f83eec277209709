/** Events of a request that share an envelope. */
export interface SharedEnvelope<Event> {
  install_uuid: string
  /** See `Envelope`. */
  country: string
  /** In the order of the request. */
  events: Event[]
}

/**
 * The events of a backend's request by what their envelope says of them: those of an install that follow each other and have one
 * country. So those of an install stay in the order of the request.
 */
export function byInstallAndCountry<Event extends { install_uuid: string }>(
  events: readonly Event[],
  countryOf: (event: Event) => string,
): SharedEnvelope<Event>[] {
  return [...Map.groupBy(events, ({ install_uuid }) => install_uuid)].flatMap(([install_uuid, own]) => {
    const runs: SharedEnvelope<Event>[] = []
    for (const event of own) {
      const country = countryOf(event)
      const last = runs.at(-1)
      if (last?.country === country) last.events.push(event)
      else runs.push({ install_uuid, country, events: [event] })
    }
    return runs
  })
}
