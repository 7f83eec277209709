import { z } from 'zod'

/** The path parameter of everything that is shown of one app. */
export const appParams = z.object({ app_id: z.string().meta({ description: 'Id of the app.', example: 'app_1' }) })
