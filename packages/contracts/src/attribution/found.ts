import { z } from 'zod'
import { idShape, platforms } from '../event/envelope.ts'
import { clickIdShape } from './click.ts'
import { StatedAttribution } from './stated.ts'

const id = z.string().regex(idShape)

/** Position of an event or a click on the log. */
export const Place = z.object({
  topic: z.string().describe('`<topic>@<log>`: the name of the topic and the identity of the log.'),
  partition: z.number().int(),
  offset: z.number().int(),
  index: z.number().int().describe('Of the event in its record; 0 for a click.'),
})
export type Place = z.infer<typeof Place>

/** A click id that an app sent, and whether we signed it. */
export const ClickToken = z.object({
  click_id: z.string().regex(clickIdShape),
  signature: z.enum(['valid', 'forged', 'absent']),
})
export type ClickToken = z.infer<typeof ClickToken>

/** Names of install events: `app_first_open` counts until `app_install` is there. */
export const installEvents = ['app_install', 'app_first_open'] as const
export type InstallEvent = (typeof installEvents)[number]

/** The first time a client has a user id (docs/rules.md#events). */
export const aliasEvent = '_user_alias'

/** Names of the events that attribution reads. */
export const factEvents: readonly string[] = [...installEvents, aliasEvent]

/** Whether attribution reads an event of this name. */
export const isFact = (event_name: unknown): boolean => factEvents.includes(event_name as string)

/** Header of records of `events.accepted.v1`: `1` when `isFact` holds for one of their events, else `0`. */
export const factsHeader = 'facts'

export const dated_text =
  'Date of its event where an erasure looks at it (docs/rules.md#erased-installs), Unix epoch ms; absent: not before `received_at_ms`.'

const fact = {
  v: z.literal(1).describe('Version of this shape.'),
  company_id: id,
  app_id: id,
  install_uuid: id,
  received_at_ms: z.number().int().describe('When the gateway received the event, Unix epoch ms.'),
  dated_at_ms: z.number().int().optional().describe(dated_text),
  place: Place,
}

/** All that an install event shows. Device ids are hashed, click ids are checked against their signature. */
export const InstallFact = z.object({
  kind: z.literal('install'),
  ...fact,
  event_name: z.enum(installEvents),
  is_sdk: z.boolean().describe('False: a backend sent it.'),
  platform: z.enum(platforms),
  installed_at_ms: z.number().int().describe('Install time (docs/rules.md#install-time), Unix epoch ms.'),
  country: z
    .string()
    .optional()
    .describe(
      'ISO 3166-1 alpha-2 that the gateway found; empty when unknown. Absent: its gateway looked up none, and nobody has since.',
    ),
  stated: StatedAttribution.optional().describe('The attribution that a backend states; it decides.'),
  ip: z.string().nullable().describe("Null where a backend did not give the device's: its own never matches."),
  os_major: z.number().int().nullable(),
  model: z.string().nullable(),
  device_hashes: z.array(z.string()),
  user_id: z.string().nullable(),
  referrer: ClickToken.nullable().describe('From `props.install_referrer`.'),
  named_click: ClickToken.nullable().describe('From `props.click_id`.'),
  referrer_click_server_s: z.number().int().nullable().describe("Play's server timestamp, Unix epoch seconds."),
  install_begin_server_s: z.number().int().nullable().describe("Play's server timestamp, Unix epoch seconds."),
})
export type InstallFact = z.infer<typeof InstallFact>

/** A `_user_alias` event. */
export const AliasFact = z.object({ kind: z.literal('alias'), ...fact, user_id: z.string() })
export type AliasFact = z.infer<typeof AliasFact>

/** A record without content: it begins a batch for re-decisions when no fact does (docs/attribution.md#re-decisions). */
export const Tick = z.object({ kind: z.literal('tick'), v: z.literal(1) })
export type Tick = z.infer<typeof Tick>

/** A record of `installs.found.v1`, partitioned by app. */
export const Found = z.discriminatedUnion('kind', [InstallFact, AliasFact, Tick])
export type Found = z.infer<typeof Found>
/** What install-finder publishes, and `install_facts_v1` keeps. */
export type Fact = InstallFact | AliasFact
