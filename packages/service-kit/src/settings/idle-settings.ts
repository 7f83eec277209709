import { type SettingName, settings } from './settings.ts'

/** Settings that do nothing, or half of what they say, without others. */
const needs: Partial<Record<SettingName, readonly SettingName[]>> = {
  TRIBUTARY_OIDC_ISSUER: ['TRIBUTARY_OIDC_CLIENT_ID'],
  TRIBUTARY_OIDC_CLIENT_ID: ['TRIBUTARY_OIDC_ISSUER'],
  TRIBUTARY_OIDC_CLIENT_SECRET: ['TRIBUTARY_OIDC_ISSUER'],
  TRIBUTARY_OIDC_ROLE_CLAIM: ['TRIBUTARY_OIDC_ISSUER'],
  TRIBUTARY_OIDC_ALLOWED_DOMAINS: ['TRIBUTARY_OIDC_ISSUER'],
  TRIBUTARY_PASSWORD_SIGN_IN: ['TRIBUTARY_OIDC_ISSUER'],
  TRIBUTARY_SMTP_URL: ['TRIBUTARY_SMTP_FROM', 'TRIBUTARY_ADMIN_URL'],
  TRIBUTARY_SMTP_FROM: ['TRIBUTARY_SMTP_URL'],
  TRIBUTARY_ATTENTION_MAIL: ['TRIBUTARY_SMTP_URL'],
  TRIBUTARY_KAFKA_TLS: ['TRIBUTARY_KAFKA_BROKERS'],
  TRIBUTARY_KAFKA_TLS_CA_FILE: ['TRIBUTARY_KAFKA_TLS'],
  TRIBUTARY_KAFKA_SASL: ['TRIBUTARY_KAFKA_BROKERS', 'TRIBUTARY_KAFKA_USERNAME', 'TRIBUTARY_KAFKA_PASSWORD'],
  TRIBUTARY_KAFKA_USERNAME: ['TRIBUTARY_KAFKA_SASL'],
  TRIBUTARY_KAFKA_PASSWORD: ['TRIBUTARY_KAFKA_SASL'],
  TRIBUTARY_CLICKHOUSE_REPLICATED: ['TRIBUTARY_CLICKHOUSE_URL', 'TRIBUTARY_CLICKHOUSE_CLUSTER'],
  TRIBUTARY_CLICKHOUSE_CLUSTER: ['TRIBUTARY_CLICKHOUSE_REPLICATED'],
  TRIBUTARY_POSTGRES_ROLE_PASSWORDS: ['TRIBUTARY_POSTGRES_URL'],
  TRIBUTARY_S3_ENDPOINT: ['TRIBUTARY_S3_BUCKET'],
  TRIBUTARY_S3_ACCESS_KEY_ID: ['TRIBUTARY_S3_BUCKET', 'TRIBUTARY_S3_SECRET_ACCESS_KEY'],
  TRIBUTARY_S3_SECRET_ACCESS_KEY: ['TRIBUTARY_S3_ACCESS_KEY_ID'],
}

/** One line for each setting that is set without one that it needs. A setting with its default counts as not set. */
export function findIdleSettings(env: Record<string, string | undefined>): string[] {
  const isSet = (name: SettingName) => Boolean(env[name]) && env[name] !== settings[name].default_text
  return (Object.keys(needs) as SettingName[]).filter(isSet).flatMap((name) => {
    const missing = needs[name]!.filter((other) => !isSet(other))
    return missing.length === 0 ? [] : [`  ${name} does nothing without ${missing.join(' and ')}: set all, or none`]
  })
}
