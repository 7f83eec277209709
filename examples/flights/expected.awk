# Prints a report that Tributary must give of the flights, counted from the CSV alone (POSIX awk):
#   zcat FLIGHTS.csv.gz | awk -v report=events -v since=2013-01-01 -v until=2014-01-01 -f expected.awk
# `report` is attribution, events, revenue, cohorts or ltv. Columns are separated by tabs; `until` is not in the window.

BEGIN { FS = ","; minutes_of_day = 1440 }

# Days from 1970-01-01 to a date (https://howardhinnant.github.io/date_algorithms.html#days_from_civil).
function day_number(date,    y, m, d) {
  y = substr(date, 1, 4) + 0; m = substr(date, 6, 2) + 0; d = substr(date, 9, 2) + 0
  if (m <= 2) { y--; m += 12 }
  return 365 * y + int(y / 4) - int(y / 100) + int(y / 400) + int((153 * (m - 3) + 2) / 5) + d - 719469
}

# A quotient of whole numbers, with 4 places, halves away from zero, as JSON writes numbers.
function places(part, whole,    text) {
  if (whole == 0) return "0"
  text = sprintf("%.4f", int((2 * part * 10000 + whole) / (2 * whole)) / 10000)
  sub(/0+$/, "", text); sub(/\.$/, "", text)
  return text
}
function usd(cents, sharers) { return places(cents, 100 * sharers) }

{ sub(/\r$/, "") }
NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
$column["tailnum"] == "NA" { next }
{
  n++
  tail[n] = $column["tailnum"]
  date[n] = substr($column["time_hour"], 1, 10)
  at[n] = day_number(date[n]) * minutes_of_day + substr($column["time_hour"], 12, 2) * 60 + $column["minute"]
  cancelled[n] = $column["dep_time"] == "NA"
  cents[n] = cancelled[n] ? 0 : $column["distance"] + 0
  # The first departure of an aircraft is its install; of two in a minute the first of the file.
  if (!cancelled[n] && (!(tail[n] in install) || at[n] < at[install[tail[n]]])) install[tail[n]] = n
}

# Prints the names of the columns before sorted rows can overtake them.
function head(names) { print names; fflush() }
function inside(i) { return date[i] >= since && date[i] < until }
function name_of(i) { return cancelled[i] ? "cancelled" : install[tail[i]] == i ? "app_install" : "departure" }
# The number of the 24 hours after its install that an event is in; negative before it, and without an install.
function age_of(i,    minutes) {
  if (!(tail[i] in install)) return -1
  minutes = at[i] - at[install[tail[i]]]
  return minutes < 0 ? -1 : int(minutes / minutes_of_day)
}
# Adds 1 to `count[key]` at the first sight of a member.
function count_once(key, member) { if (!((key, member) in seen)) { seen[key, member]; members[key]++ } }

function print_events(    i, key) {
  for (i = 1; i <= n; i++) if (inside(i)) {
    key = date[i] "\t" name_of(i)
    rows[key]++; money[key] += cents[i]; count_once(key, tail[i])
  }
  head("day\tevent_name\tevents\tunique_installs\trevenue_usd")
  for (key in rows) print key "\t" rows[key] "\t" members[key] "\t" usd(money[key], 1) | sort
}
function print_revenue(    i, key) {
  for (i = 1; i <= n; i++) if (inside(i) && !cancelled[i]) {
    key = date[i]
    rows[key]++; money[key] += cents[i]
    if (cents[i] > 0) count_once(key, tail[i])
  }
  head("day\tpartner\tpurchases\trevenue_usd\tarppu_usd")
  for (key in rows) print key "\torganic\t" rows[key] "\t" usd(money[key], 1) "\t" usd(money[key], members[key]) | sort
}
function count_installs(    aircraft) {
  for (aircraft in install) if (inside(install[aircraft])) installs[date[install[aircraft]]]++
}
function print_attribution(    day) {
  count_installs()
  head("day\tpartner\tattribution_type\tinstalls\torganic\treinstalls\tfraud_flagged")
  for (day in installs) print day "\torganic\torganic\t" installs[day] "\t" installs[day] "\t0\t0" | sort
}
function print_cohorts(    i, day, age, k, m, days, line) {
  count_installs()
  m = split("1 7 30", days, " ")
  for (i = 1; i <= n; i++) {
    age = age_of(i)
    if (age == 1 || age == 7 || age == 30) count_once(date[install[tail[i]]] " " age, tail[i])
  }
  head("day\tinstalls\td1\td7\td30\td1_rate\td7_rate\td30_rate")
  for (day in installs) {
    line = day "\t" installs[day]
    for (k = 1; k <= m; k++) line = line "\t" members[day " " days[k]] + 0
    for (k = 1; k <= m; k++) line = line "\t" places(members[day " " days[k]] + 0, installs[day])
    print line | sort
  }
}
function print_ltv(    i, day, age, k, m, days, line) {
  count_installs()
  m = split("0 7 30", days, " ")
  for (i = 1; i <= n; i++) {
    age = age_of(i)
    if (age < 0) continue
    day = date[install[tail[i]]]
    money[day] += cents[i]
    for (k = 1; k <= m; k++) if (age <= days[k]) money[day, days[k]] += cents[i]
  }
  head("day\tpartner\tinstalls\trevenue_usd\td0_revenue_usd\td7_revenue_usd\td30_revenue_usd\td0_arpi_usd\td7_arpi_usd\td30_arpi_usd")
  for (day in installs) {
    line = day "\torganic\t" installs[day] "\t" usd(money[day], 1)
    for (k = 1; k <= m; k++) line = line "\t" usd(money[day, days[k]], 1)
    for (k = 1; k <= m; k++) line = line "\t" usd(money[day, days[k]], installs[day])
    print line | sort
  }
}

END {
  sort = "LC_ALL=C sort"
  if (report == "events") print_events()
  else if (report == "revenue") print_revenue()
  else if (report == "attribution") print_attribution()
  else if (report == "cohorts") print_cohorts()
  else if (report == "ltv") print_ltv()
  else { print "unknown report: " report > "/dev/stderr"; exit 2 }
  close(sort)
}
