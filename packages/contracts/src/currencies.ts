/**
 * Active ISO 4217 codes, and those replaced since 2010, the oldest year an event may have (backfills bring them). Metals and
 * units of account are among them. XTS (tests) and XXX (no currency) are not: no amount of them is money.
 */
const codes = new Set(
  `AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF
  CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD
  HNL HRK HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL
  MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD
  RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD
  USN USS UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XFU XOF XPD XPF XPT XSU XUA YER
  ZAR ZMW ZWG ZWL BYR EEK LTL LVL MRO STD VEF ZMK`.split(/\s+/),
)

/** True for an ISO 4217 alpha-3 code of money in any case; letters outside ASCII never count, whatever their upper case is. */
export const isCurrency = (value: string): boolean =>
  codes.has(value) || (/^[A-Za-z]{3}$/.test(value) && codes.has(value.toUpperCase()))

/** What one EUR was worth on a day, as decimal text: in USD, and in units of a currency. */
export interface EurRates {
  usd: string
  units: string
}
