import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { escapeIdentifier, escapeLiteral, type Pool, type PoolClient } from 'pg'
import { type PostgresService, type Rights, roleOf, serviceRoles } from './service-roles.ts'
import { inTransaction } from './transaction.ts'

const services = Object.keys(serviceRoles) as PostgresService[]

/** Any number does, as long as nobody else locks with it. */
const roles_lock = 7_361_204_158_014

/**
 * Makes the role of each service that has a password here, and gives every role of the list that there is the rights of
 * the list and no others, all at once or not at all. May run again: a password is set anew, services go on meanwhile.
 */
export async function applyServiceRoles(
  pool: Pool,
  passwords: Partial<Record<PostgresService, string>>,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [roles_lock])
    const { rows } = await client.query<{ rolname: string }>('SELECT rolname FROM pg_roles')
    const existing = new Set(rows.map(({ rolname }) => rolname))
    for (const service of services) {
      const password = passwords[service]
      if (password !== undefined) await setRole(client, roleOf(service), password, existing)
    }
    const present = services.filter((service) => existing.has(roleOf(service)))
    if (present.length > 0) await closeToPublic(client)
    for (const service of present) await grantRights(client, service)
  })
}

async function setRole(client: PoolClient, name: string, password: string, existing: Set<string>): Promise<void> {
  const role = escapeIdentifier(name)
  if (!existing.has(name)) await client.query(`CREATE ROLE ${role}`)
  existing.add(name)
  const verifier = escapeLiteral(scramVerifier(password))
  await client.query(`ALTER ROLE ${role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD ${verifier}`)
}

/** Revokes the rights that PostgreSQL grants to everybody by default. */
async function closeToPublic(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ name: string }>('SELECT current_database() AS name')
  await client.query(`REVOKE TEMPORARY ON DATABASE ${escapeIdentifier(rows[0]!.name)} FROM PUBLIC`)
  await client.query('REVOKE CREATE ON SCHEMA public FROM PUBLIC')
}

async function grantRights(client: PoolClient, service: PostgresService): Promise<void> {
  const role = escapeIdentifier(roleOf(service))
  await client.query(`REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ${role}`) // those on columns too
  await client.query(`REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM ${role}`)
  for (const [table, { select, also = [], update }] of Object.entries<Rights>(serviceRoles[service])) {
    const columns = (names: readonly string[]) => ` (${names.map(escapeIdentifier).join(', ')})`
    const own = update === undefined ? [] : [`UPDATE${columns(update)}`]
    const rights = [`SELECT${select === '*' ? '' : columns(select)}`, ...also, ...own].join(', ')
    await client.query(`GRANT ${rights} ON ${escapeIdentifier(table)} TO ${role}`)
  }
}

/** A password as PostgreSQL keeps it (RFC 5803), so that the password itself reaches no statement and no log of it. */
function scramVerifier(password: string): string {
  const iterations = 4096
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256')
  const keyOf = (name: string) => createHmac('sha256', salted).update(name).digest()
  const stored = createHash('sha256').update(keyOf('Client Key')).digest('base64')
  const server = keyOf('Server Key').toString('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${server}`
}
