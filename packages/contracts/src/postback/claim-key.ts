/**
 * SQL of the hash that names a claim in `postback_beaten_claims_v1`, over the columns `postback_key` and `environment` and the
 * log position. Text counts alike whether its column is `LowCardinality` or not, numbers by their type: UInt32 and UInt64.
 */
export const claimKeySql = (topic = 'topic', partition = 'partition', offset = 'offset'): string =>
  `cityHash64(postback_key, environment, ${topic}, ${partition}, ${offset})`
