import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** Signs tokens as Google does for push subscriptions of Pub/Sub, with a key of its own. */
export interface GooglePushAuthority {
  /** The key set as Google publishes it, as text. */
  jwks: string
  /** A token with these claims over good ones; `header` replaces fields of the header. */
  token(claims: object, header?: object): string
}

/** The claims are good at `now_ms`, apart from audience and email. */
export function createGooglePushAuthority(now: () => number, kid = 'google-1'): GooglePushAuthority {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' }
  return {
    jwks: JSON.stringify({ keys: [jwk] }),
    token(claims, header = {}) {
      const iat = Math.floor(now() / 1000)
      const all = {
        iss: 'https://accounts.google.com',
        sub: '1',
        email_verified: true,
        iat,
        exp: iat + 3600,
        ...claims,
      }
      return signRs256({ alg: 'RS256', typ: 'JWT', kid, ...header }, all, privateKey)
    },
  }
}

function signRs256(header: object, claims: object, key: KeyObject): string {
  const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`
}

/** A push of Pub/Sub with a notification of Google Play, on June 1 2026; `null` takes a member away. */
export const googlePush = (notification: object = {}, message: object = {}): string => {
  const content = {
    ...{ version: '1.0', packageName: 'com.example.run', eventTimeMillis: `${Date.UTC(2026, 5, 1)}` },
    subscriptionNotification: {
      ...{ version: '1.0', notificationType: 2, purchaseToken: 'token-of-a-purchase', subscriptionId: 'gold' },
    },
    ...notification,
  }
  const data = Buffer.from(JSON.stringify(content)).toString('base64')
  return JSON.stringify({
    message: { data, messageId: '136969346945', publishTime: '2026-06-01T00:00:01Z', ...message },
    subscription: 'projects/example/subscriptions/play',
  })
}
