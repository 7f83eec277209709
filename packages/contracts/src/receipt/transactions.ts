import { z } from 'zod'
import { limits } from '../limits.ts'

const id = z.string().min(1).max(limits.receipt_id_chars_max)
const time_ms = z.int()

/**
 * The payload of a signed transaction of Apple, `JWSTransactionDecodedPayload` of the App Store Server API: the fields that
 * are read. Times are Unix epoch ms.
 */
export const AppleTransaction = z.object({
  transactionId: id,
  /** The first transaction of a subscription; the transaction itself for others. */
  originalTransactionId: id.optional(),
  bundleId: id,
  productId: id,
  /** `Auto-Renewable Subscription`, `Consumable` and others. */
  type: z.string().max(limits.receipt_id_chars_max).optional(),
  environment: z.string().max(limits.receipt_id_chars_max),
  signedDate: time_ms,
  purchaseDate: time_ms.optional(),
  /** Thousandths of the currency; old transactions have none. */
  price: z.int().min(0).optional(),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/)
    .optional(),
  inAppOwnershipType: z.string().optional(),
  revocationDate: time_ms.optional(),
  revocationType: z.string().optional(),
  /** The part of the price that was paid back, in thousandths of a percent; absent: all of it. */
  revocationPercentage: z.int().min(0).max(100_000).optional(),
})
export type AppleTransaction = z.infer<typeof AppleTransaction>

/** `ProductPurchase` of the Play Developer API. `purchaseState` 0: bought, 1: canceled, 2: pending; `purchaseType` 0: test. */
export const ProductPurchase = z.object({
  purchaseState: z.literal([0, 1, 2]),
  purchaseType: z.int().optional(),
  orderId: id.optional(),
  productId: id.optional(),
})
export type ProductPurchase = z.infer<typeof ProductPurchase>

/** `SubscriptionPurchaseV2` of the Play Developer API. `testPurchase` is there for a test alone. */
export const SubscriptionPurchase = z.object({
  subscriptionState: z.enum([
    ...(['SUBSCRIPTION_STATE_PENDING', 'SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED'] as const),
    ...(['SUBSCRIPTION_STATE_ACTIVE', 'SUBSCRIPTION_STATE_IN_GRACE_PERIOD', 'SUBSCRIPTION_STATE_ON_HOLD'] as const),
    ...(['SUBSCRIPTION_STATE_PAUSED', 'SUBSCRIPTION_STATE_CANCELED', 'SUBSCRIPTION_STATE_EXPIRED'] as const),
  ]),
  lineItems: z.array(z.object({ productId: id, latestSuccessfulOrderId: id.optional() })),
  latestOrderId: id.optional(),
  testPurchase: z.unknown().optional(),
})
export type SubscriptionPurchase = z.infer<typeof SubscriptionPurchase>
