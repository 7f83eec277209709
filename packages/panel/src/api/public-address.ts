let known: string | null = null

/** Notes where SDKs and backends reach the installation; null: where the panel is. */
export const keepPublicUrl = (url: string | null): void => {
  known = url
}

/** The begin of addresses in commands that a person copies. */
export const publicUrl = (): string => known ?? location.origin
