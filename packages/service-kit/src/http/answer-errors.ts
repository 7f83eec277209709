import { CodedError, type ErrorBody, type ErrorCode } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { type AllowedMethods, pathOf } from './allowed-methods.ts'

/** Answers every error of an app with a code of the catalogue: 404 and 405 where there is no route, 500 for a fault of ours. */
export function answerErrors(app: FastifyInstance, logger: Logger, allowedMethods: AllowedMethods): void {
  const answerNoRoute = noRouteHandler(allowedMethods)
  app.setNotFoundHandler(answerNoRoute)
  app.setErrorHandler((error: FastifyError | CodedError, request, reply) => {
    // Nobody needs to know what is wrong with a body without a route (fastify refuses a QUERY without content type).
    if (request.is404 && !(error instanceof CodedError)) return answerNoRoute(request, reply)
    const coded = toCodedError(error)
    // An error without a cause is a refusal, not a failure. A line for each would add work when there is too much of it.
    if (coded.status >= 500 && coded.cause !== undefined)
      logger.error({ err: error, request_id: request.id, url: request.url }, 'request failed')
    if (coded.status === 503) reply.header('retry-after', String(limits.retry_after_s))
    for (const [name, value] of Object.entries(coded.headers)) reply.header(name, value)
    const body = errorBody(coded.code, request.id, coded.field, coded.message)
    return reply.status(coded.status).type('application/json; charset=utf-8').send(body)
  })
}

export function errorBody(error: ErrorCode, request_id: string, field?: string, message?: string): ErrorBody {
  return { error, ...(field ? { field } : {}), ...(message ? { message } : {}), request_id }
}

function toCodedError(error: FastifyError | CodedError): CodedError {
  if (error instanceof CodedError) return error
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new CodedError('body_too_large', { cause: error })
  // fastify has only two more errors below 500: a body that broke off, and a length that is wrong.
  if (error.statusCode !== undefined && error.statusCode < 500) {
    return new CodedError('bad_json', { message: 'The request body could not be read.', cause: error })
  }
  return new CodedError('internal_error', { cause: error })
}

/** Answers 405 for a path that has routes with other methods, otherwise 404. */
function noRouteHandler(allowedMethods: AllowedMethods) {
  return (request: FastifyRequest, reply: FastifyReply) => {
    const allowed = allowedMethods(pathOf(request.url))
    if (allowed.length === 0) return reply.status(404).send(errorBody('not_found', request.id))
    return reply.status(405).header('allow', allowed.join(', ')).send(errorBody('method_not_allowed', request.id))
  }
}
