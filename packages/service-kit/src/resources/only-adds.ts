/**
 * Whether a migration of a newer version leaves all that the version before it uses: each does, unless its name says `NNNN_drop_...`
 * (docs/backup.md#upgrade). A service starts on a schema that only such migrations are ahead of it, so in an upgrade a process of
 * before may be started again, and the fleet may go back.
 */
export const onlyAdds = (migration: string): boolean => !/^\d{4}_drop_/.test(migration)
