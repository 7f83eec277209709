import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { getApp } from '@tributary/admin-http/authorize'
import { dayNoteRoutes } from '@tributary/contracts/admin/day-notes'
import { savedViewRoutes } from '@tributary/contracts/admin/saved-views'
import { listNotes, removeNote, writeNote } from '@tributary/tenancy/shared/day-notes'
import { listViews, removeView, saveView } from '@tributary/tenancy/shared/saved-views'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/** What people share about an app in the panel: names for addresses, and notes on days. */
export function addSharedRoutes(app: FastifyInstance, { pool, now }: Pick<AdminApiDeps, 'pool' | 'now'>): void {
  addRoute(app, savedViewRoutes.listViews, async (_input, request) => {
    const { app_id } = await getApp(pool, request)
    return { views: await listViews(pool, app_id) }
  })
  addRoute(app, savedViewRoutes.saveView, async ({ body }, request) => {
    const { app_id } = await getApp(pool, request)
    return saveView(pool, app_id, body, adminRequest(request, now))
  })
  addRoute(app, savedViewRoutes.removeView, async ({ body: { name } }, request) => {
    const { app_id } = await getApp(pool, request)
    await removeView(pool, app_id, name, adminRequest(request, now))
    return { name, status: 'removed' as const }
  })
  addRoute(app, dayNoteRoutes.listNotes, async (_input, request) => {
    const { app_id } = await getApp(pool, request)
    return { notes: await listNotes(pool, app_id) }
  })
  addRoute(app, dayNoteRoutes.writeNote, async ({ body }, request) => {
    const { app_id } = await getApp(pool, request)
    return writeNote(pool, app_id, body, adminRequest(request, now))
  })
  addRoute(app, dayNoteRoutes.removeNote, async ({ body: { note_id } }, request) => {
    const { app_id } = await getApp(pool, request)
    await removeNote(pool, app_id, note_id, adminRequest(request, now))
    return { note_id, status: 'removed' as const }
  })
}
