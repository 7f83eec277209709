/** Counts in `report_stamps_v1` what was copied, by the first day of the month. It is no app (`ofApps`). */
export const marks_app = '/backfill'
/** The day of the mark that all is copied. */
export const done_day = '1970-01-01'

/** Whether all that an earlier version stored is copied, as SQL: 0 if it is not. */
export const isFilledSql = `
          SELECT count() FROM report_stamps_v1
          WHERE app_id = '${marks_app}' AND source = 'money' AND day = toDate('${done_day}')`
