// Made by `npm run dump`: do not edit.
export const declaredReports = {
  attribution: {
  "summary": "Installs by day, partner and attribution type",
  "description": "Installs of the app by their newest verdict; an install that waits for a click is in no row. The window is of install times. Rows are ordered by day, then partner, then attribution type.",
  "filters": [
    "partner",
    "attribution_type"
  ],
  "columns": [
    {
      "name": "day",
      "description": "Day of the install, UTC.",
      "numeric": false
    },
    {
      "name": "partner",
      "description": "`organic` without a click.",
      "numeric": false
    },
    {
      "name": "attribution_type",
      "description": "The method that matched the click, or `organic`.",
      "numeric": false
    },
    {
      "name": "installs",
      "description": "New installs, organic and flagged ones included, reinstalls left out.",
      "numeric": true
    },
    {
      "name": "organic",
      "description": "Those of `installs` that no click brought.",
      "numeric": true
    },
    {
      "name": "reinstalls",
      "description": "Installs of a device or user that had an install before. Not in `installs`.",
      "numeric": true
    },
    {
      "name": "fraud_flagged",
      "description": "Those of `installs` with a fraud flag.",
      "numeric": true
    }
  ]
},
  revenue: {
  "summary": "Money by day and partner",
  "description": "Money events of the app by the newest verdict of their install. The window is of event times. Rows are ordered by day, then partner.",
  "filters": [
    "partner",
    "campaign",
    "link_id",
    "country"
  ],
  "columns": [
    {
      "name": "day",
      "description": "Day of the money events, UTC.",
      "numeric": false
    },
    {
      "name": "partner",
      "description": "Partner of the newest verdict of the install; `organic` without one.",
      "numeric": false
    },
    {
      "name": "purchases",
      "description": "Events whose money counts, refunds left out.",
      "numeric": true
    },
    {
      "name": "revenue_usd",
      "description": "Counted money, refunds subtracted, at the exchange rate of its day.",
      "numeric": true
    },
    {
      "name": "arppu_usd",
      "description": "`revenue_usd` by the installs with a purchase above 0 that has an exchange rate; 0 without any.",
      "numeric": true
    }
  ]
},
  cohorts: {
  "summary": "Retention by day of install",
  "description": "Installs of the app that came back 1, 7 and 30 days after their install. Day N is the 24 hours that begin N x 24 hours after the install, not a calendar day: who installs at 20:00 and comes back at 09:00 the next morning was there on day 0 alone. The window is of install times. Events of an app are corrected by the clock of its phone when it sent them, as install times are. A rate is too low while the 24 hours that it counts are not over for every install of the row. Rows are ordered by day.",
  "filters": [
    "partner",
    "campaign",
    "link_id",
    "country"
  ],
  "columns": [
    {
      "name": "day",
      "description": "Day of the install, UTC.",
      "numeric": false
    },
    {
      "name": "installs",
      "description": "New installs, reinstalls left out.",
      "numeric": true
    },
    {
      "name": "d1",
      "description": "Those of `installs` with an event in the 24 hours that begin 1 x 24 hours after the install.",
      "numeric": true
    },
    {
      "name": "d7",
      "description": "Those of `installs` with an event in the 24 hours that begin 7 x 24 hours after the install.",
      "numeric": true
    },
    {
      "name": "d30",
      "description": "Those of `installs` with an event in the 24 hours that begin 30 x 24 hours after the install.",
      "numeric": true
    },
    {
      "name": "d1_rate",
      "description": "`d1` by `installs`, 0 to 1, rounded to 4 places.",
      "numeric": true
    },
    {
      "name": "d7_rate",
      "description": "`d7` by `installs`, 0 to 1, rounded to 4 places.",
      "numeric": true
    },
    {
      "name": "d30_rate",
      "description": "`d30` by `installs`, 0 to 1, rounded to 4 places.",
      "numeric": true
    }
  ]
},
  events: {
  "summary": "Events by day and name",
  "description": "All accepted events of the app. Rows are ordered by day, then by event name.",
  "filters": [
    "event_name"
  ],
  "columns": [
    {
      "name": "day",
      "description": "UTC.",
      "numeric": false
    },
    {
      "name": "event_name",
      "description": "",
      "numeric": false
    },
    {
      "name": "events",
      "description": "Accepted events, duplicates left out.",
      "numeric": true
    },
    {
      "name": "unique_installs",
      "description": "Different installs among them.",
      "numeric": true
    },
    {
      "name": "revenue_usd",
      "description": "Counted money, refunds subtracted, at the exchange rate of its day; 0 without any.",
      "numeric": true
    }
  ]
},
  ltv: {
  "summary": "Lifetime value by day of install and partner",
  "description": "Money that the installs of a day brought since their install. The window is of install times. Money of an app is corrected by the clock of its phone when it sent it, as install times are; money from before the install is left out. Installs count as in the report `cohorts`, by the partner of their newest verdict. Rows are ordered by day, then partner.",
  "filters": [
    "partner",
    "campaign",
    "link_id",
    "country"
  ],
  "columns": [
    {
      "name": "day",
      "description": "Day of the install, UTC.",
      "numeric": false
    },
    {
      "name": "partner",
      "description": "Partner of the newest verdict of the install.",
      "numeric": false
    },
    {
      "name": "installs",
      "description": "New installs, reinstalls left out.",
      "numeric": true
    },
    {
      "name": "revenue_usd",
      "description": "Their counted money from the time of the install on, refunds subtracted, at the exchange rate of its day.",
      "numeric": true
    },
    {
      "name": "d0_revenue_usd",
      "description": "",
      "numeric": true
    },
    {
      "name": "d7_revenue_usd",
      "description": "",
      "numeric": true
    },
    {
      "name": "d30_revenue_usd",
      "description": "",
      "numeric": true
    },
    {
      "name": "d0_arpi_usd",
      "description": "",
      "numeric": true
    },
    {
      "name": "d7_arpi_usd",
      "description": "",
      "numeric": true
    },
    {
      "name": "d30_arpi_usd",
      "description": "",
      "numeric": true
    }
  ]
},
  costs: {
  "summary": "Costs of ads by day, partner, campaign, ad group and country",
  "description": "What was uploaded, by `PUT /api/v1/costs`. Costs are of days, so the window takes each day that it touches whole. Of a week or month the rows are of one currency each. Rows are ordered by day, then partner, campaign, ad group, country and currency.",
  "filters": [
    "partner",
    "campaign",
    "ad_group",
    "country"
  ],
  "columns": [
    {
      "name": "day",
      "description": "Day of the cost, UTC.",
      "numeric": false
    },
    {
      "name": "partner",
      "description": "",
      "numeric": false
    },
    {
      "name": "campaign",
      "description": "Empty where the cost names none.",
      "numeric": false
    },
    {
      "name": "ad_group",
      "description": "Empty where the cost names none.",
      "numeric": false
    },
    {
      "name": "country",
      "description": "ISO 3166-1 alpha-2; empty where the cost names none.",
      "numeric": false
    },
    {
      "name": "cost",
      "description": "Money as it was uploaded, in `currency`.",
      "numeric": true
    },
    {
      "name": "currency",
      "description": "ISO 4217.",
      "numeric": false
    },
    {
      "name": "cost_usd",
      "description": "`cost` at the exchange rate of its day, rounded to 4 places; 0 without a rate.",
      "numeric": true
    },
    {
      "name": "clicks",
      "description": "As the partner counts them; null where no upload says.",
      "numeric": true
    },
    {
      "name": "impressions",
      "description": "As the partner counts them; null where no upload says.",
      "numeric": true
    },
    {
      "name": "uploaded_at_ms",
      "description": "When the service received the upload that counts, Unix epoch ms; the newest of the period.",
      "numeric": true
    }
  ]
},
  performance: {
  "summary": "What campaigns brought and cost",
  "description": "Installs of the app by what brought them, what they brought until now, and the clicks and costs of the same period. The window is of install times, and takes each day that it touches whole: `meta` shows it so. Rows are ordered by day, then by the dimensions, unless `sort` says otherwise. More than 100 000 rows on all pages are refused.",
  "filters": [
    "partner",
    "campaign",
    "ad_group",
    "creative",
    "link_id",
    "sub1",
    "sub2",
    "sub3",
    "sub4",
    "sub5",
    "country",
    "attribution_type"
  ],
  "columns": [
    {
      "name": "day",
      "description": "Day of the installs, clicks and costs, UTC. Absent with `group=none`.",
      "numeric": false
    },
    {
      "name": "partner",
      "description": "`organic` without a click. Absent unless `by` names it.",
      "numeric": false
    },
    {
      "name": "campaign",
      "description": "Empty where there is none; `*` on costs that name none. Absent unless `by` names it.",
      "numeric": false
    },
    {
      "name": "clicks",
      "description": "Clicks that were not filtered. Null in rows by `sub1` to `sub5` or `attribution_type`, and under a filter by `attribution_type`.",
      "numeric": true
    },
    {
      "name": "installs",
      "description": "New installs, organic and flagged ones included, reinstalls left out.",
      "numeric": true
    },
    {
      "name": "reinstalls",
      "description": "Installs of a device or user that had an install before. Not in `installs`.",
      "numeric": true
    },
    {
      "name": "fraud_flagged",
      "description": "Those of `installs` with a fraud flag.",
      "numeric": true
    },
    {
      "name": "purchases",
      "description": "Money events of `installs` since their install that count, refunds left out.",
      "numeric": true
    },
    {
      "name": "payers",
      "description": "Those of `installs` with a purchase above 0 that has an exchange rate.",
      "numeric": true
    },
    {
      "name": "revenue_usd",
      "description": "Counted money of `installs` since their install, refunds subtracted, at the exchange rate of its day.",
      "numeric": true
    },
    {
      "name": "cost_usd",
      "description": "Uploaded costs at the exchange rate of their day, rounded to 4 places. Null where none was uploaded, and by or under a filter by what costs never name.",
      "numeric": true
    },
    {
      "name": "cpi_usd",
      "description": "`cost_usd` by `installs`; null where there are none.",
      "numeric": true
    },
    {
      "name": "roas",
      "description": "`revenue_usd` by `cost_usd`, rounded to 4 places; null where `cost_usd` is 0 or null.",
      "numeric": true
    }
  ]
},
  receipts: {
  "summary": "Receipts of the stores by day, store, verdict and reason",
  "description": "Events with a receipt by their newest verdict; events that a store sent itself are `valid`. An event whose receipt nobody has judged yet is in no row. The window is of event times. Rows are ordered by day, then store, verdict and reason; null comes first.",
  "filters": [
    "store",
    "verdict",
    "reason"
  ],
  "columns": [
    {
      "name": "day",
      "description": "Day of the events, UTC.",
      "numeric": false
    },
    {
      "name": "store",
      "description": "Null where the receipt names none.",
      "numeric": false
    },
    {
      "name": "verdict",
      "description": "The newest one.",
      "numeric": false
    },
    {
      "name": "reason",
      "description": "Why; null where there is nothing to add. `reused`: the transaction counts for another install.",
      "numeric": false
    },
    {
      "name": "events",
      "description": "Events with a receipt, and events that a store sent.",
      "numeric": true
    },
    {
      "name": "revenue_told_usd",
      "description": "Money that the events state, refunds subtracted, at the exchange rate of its day.",
      "numeric": true
    },
    {
      "name": "revenue_counted_usd",
      "description": "Money of these events that other reports count, refunds subtracted, at the exchange rate of its day.",
      "numeric": true
    }
  ]
},
  skan: {
  "summary": "Postbacks of Apple by day, network and source",
  "description": "SKAdNetwork and AdAttributionKit postbacks of the app, by its store id. They are aggregates without any device, so they are in no other report, and no row of another report may be added to them. The window is of the times of receipt. Rows are ordered by day, then protocol, network, source and sequence index.",
  "filters": [],
  "columns": [
    {
      "name": "day",
      "description": "Day on which the postback was received, UTC.",
      "numeric": false
    },
    {
      "name": "protocol",
      "description": "",
      "numeric": false
    },
    {
      "name": "network",
      "description": "Ad network id.",
      "numeric": false
    },
    {
      "name": "source",
      "description": "Source identifier, or the campaign id of versions before 4.0.",
      "numeric": false
    },
    {
      "name": "sequence_index",
      "description": "Number of the postback of its install; 0 is the first.",
      "numeric": true
    },
    {
      "name": "postbacks",
      "description": "Counted are winning postbacks that a production key signed: the first one of each network, id and sequence index, lost ads left out.",
      "numeric": true
    },
    {
      "name": "installs",
      "description": "Those of `postbacks` with sequence index 0 that tell of a new install.",
      "numeric": true
    },
    {
      "name": "redownloads",
      "description": "The same for an app that the person had before.",
      "numeric": true
    },
    {
      "name": "cv_null",
      "description": "Those of `postbacks` without any conversion value: Apple sent none.",
      "numeric": true
    },
    {
      "name": "fine",
      "description": "Those of `postbacks` with a fine conversion value, by value. A value that did not come is left out.",
      "numeric": false
    },
    {
      "name": "coarse_low",
      "description": "Those of `postbacks` with this coarse conversion value.",
      "numeric": true
    },
    {
      "name": "coarse_medium",
      "description": "Those of `postbacks` with this coarse conversion value.",
      "numeric": true
    },
    {
      "name": "coarse_high",
      "description": "Those of `postbacks` with this coarse conversion value.",
      "numeric": true
    },
    {
      "name": "revenue_min_usd",
      "description": "The least revenue that the decoded values stand for.",
      "numeric": true
    },
    {
      "name": "revenue_max_usd",
      "description": "The same, the most. An open highest band adds its minimum.",
      "numeric": true
    },
    {
      "name": "unverified",
      "description": "Ids that no valid postback has, each once. They are in no other field.",
      "numeric": true
    },
    {
      "name": "schema_version",
      "description": "Version of the conversion value schema that decodes `postbacks`; null for none, or for several.",
      "numeric": true
    },
    {
      "name": "schema_ambiguous",
      "description": "Whether another version was published while the installs may have happened.",
      "numeric": false
    }
  ]
},
} as const
