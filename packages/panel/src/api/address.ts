import { routes } from './declared/routes.ts'

/** The parameters of the path of a request, its query, and its body. */
export interface Sent {
  params?: object
  query?: object
  body?: unknown
}

/** The address of a declared route with its parameters. */
export function addressOf(name: keyof typeof routes, { params = {}, query = {} }: Sent): string {
  const values = new Map<string, unknown>(Object.entries(params))
  const path = routes[name].path.replaceAll(/:(\w+)/g, (_all, part) => encodeURIComponent(String(values.get(part))))
  const words = new URLSearchParams()
  for (const [key, value] of Object.entries(query))
    for (const one of [value].flat()) if (one !== undefined) words.append(key, String(one))
  return words.size === 0 ? path : `${path}?${words}`
}
