import type { Reservation } from '@tributary/tenancy/quota/quota'
import type { FastifyReply } from 'fastify'

/** Runs `work` with events that are reserved. They count when it succeeds, and are given back when it fails. */
export async function underQuota<Result>(
  reply: FastifyReply,
  reserving: Promise<Reservation>,
  work: () => Promise<Result>,
): Promise<Result> {
  const reservation = await reserving
  reply.headers(reservation.headers)
  try {
    return await work()
  } catch (error) {
    await reservation.giveBack()
    throw error
  }
}
