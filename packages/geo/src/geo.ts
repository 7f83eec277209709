/** What is known of an address. */
export interface AddressFacts {
  /** ISO 3166-1 alpha-2; null when unknown. */
  country: string | null
  /** It belongs to a network of a hosting provider: a person rarely sits there. Private relays are none. */
  datacenter: boolean
}

/** Country and kind of network of addresses, from databases in memory. */
export interface Geo {
  lookUp(ip: string): AddressFacts
}
