// Made by `npm run dump`: do not edit.
export const routes = {
  "createCompany": {
    "method": "POST",
    "path": "/admin/api/v1/companies",
    "roles": [
      "operator"
    ]
  },
  "listCompanies": {
    "method": "GET",
    "path": "/admin/api/v1/companies",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "privacy",
      "analyst",
      "operator"
    ]
  },
  "getCompany": {
    "method": "GET",
    "path": "/admin/api/v1/companies/:id",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "privacy",
      "analyst",
      "operator"
    ]
  },
  "changeCompany": {
    "method": "PATCH",
    "path": "/admin/api/v1/companies/:id",
    "roles": [
      "owner",
      "admin",
      "operator"
    ]
  },
  "suspendCompany": {
    "method": "POST",
    "path": "/admin/api/v1/companies/:id/suspend",
    "roles": [
      "operator"
    ]
  },
  "reinstateCompany": {
    "method": "POST",
    "path": "/admin/api/v1/companies/:id/reinstate",
    "roles": [
      "operator"
    ]
  },
  "getExpiring": {
    "method": "GET",
    "path": "/admin/api/v1/companies/:id/expiring",
    "roles": [
      "owner",
      "admin"
    ]
  },
  "getCompanyUsage": {
    "method": "GET",
    "path": "/admin/api/v1/companies/:id/usage",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "privacy",
      "analyst",
      "operator"
    ]
  },
  "createApp": {
    "method": "POST",
    "path": "/admin/api/v1/apps",
    "roles": [
      "owner",
      "admin"
    ]
  },
  "listApps": {
    "method": "GET",
    "path": "/admin/api/v1/apps",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "privacy",
      "analyst"
    ]
  },
  "getApp": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:id",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "privacy",
      "analyst"
    ]
  },
  "changeApp": {
    "method": "PATCH",
    "path": "/admin/api/v1/apps/:id",
    "roles": [
      "owner",
      "admin"
    ]
  },
  "moveStoreId": {
    "method": "POST",
    "path": "/admin/api/v1/apps/:id/move-store-id",
    "roles": [
      "operator"
    ]
  },
  "rotateSigningSecret": {
    "method": "POST",
    "path": "/admin/api/v1/apps/:id/rotate-secret",
    "roles": [
      "owner",
      "admin"
    ],
    "fresh": true
  },
  "setStoreCredentials": {
    "method": "PUT",
    "path": "/admin/api/v1/apps/:id/store-credentials",
    "roles": [
      "owner",
      "admin"
    ],
    "fresh": true
  },
  "checkStore": {
    "method": "POST",
    "path": "/admin/api/v1/apps/:id/check-store",
    "roles": [
      "owner",
      "admin"
    ]
  },
  "createServerKey": {
    "method": "POST",
    "path": "/admin/api/v1/keys",
    "roles": [
      "owner",
      "admin"
    ],
    "fresh": true
  },
  "listServerKeys": {
    "method": "GET",
    "path": "/admin/api/v1/keys",
    "roles": [
      "owner",
      "admin"
    ]
  },
  "revokeServerKey": {
    "method": "POST",
    "path": "/admin/api/v1/keys/:id/revoke",
    "roles": [
      "owner",
      "admin"
    ]
  },
  "createLink": {
    "method": "POST",
    "path": "/admin/api/v1/links",
    "roles": [
      "owner",
      "admin",
      "marketer"
    ]
  },
  "listLinks": {
    "method": "GET",
    "path": "/admin/api/v1/links",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "enableLink": {
    "method": "POST",
    "path": "/admin/api/v1/links/:id/enable",
    "roles": [
      "owner",
      "admin",
      "marketer"
    ]
  },
  "disableLink": {
    "method": "POST",
    "path": "/admin/api/v1/links/:id/disable",
    "roles": [
      "owner",
      "admin",
      "marketer"
    ]
  },
  "setPartner": {
    "method": "PUT",
    "path": "/admin/api/v1/partners",
    "roles": [
      "owner",
      "admin",
      "marketer"
    ]
  },
  "previewPartner": {
    "method": "POST",
    "path": "/admin/api/v1/partners/preview",
    "roles": [
      "owner",
      "admin",
      "marketer"
    ]
  },
  "listPartners": {
    "method": "GET",
    "path": "/admin/api/v1/partners",
    "roles": [
      "owner",
      "admin",
      "marketer"
    ]
  },
  "removePartner": {
    "method": "POST",
    "path": "/admin/api/v1/partners/remove",
    "roles": [
      "owner",
      "admin",
      "marketer"
    ]
  },
  "testPartner": {
    "method": "POST",
    "path": "/admin/api/v1/partners/test",
    "roles": [
      "owner",
      "admin",
      "marketer"
    ]
  },
  "listDeliveries": {
    "method": "GET",
    "path": "/admin/api/v1/partners/deliveries",
    "roles": [
      "owner",
      "admin",
      "marketer"
    ]
  },
  "retryPartner": {
    "method": "POST",
    "path": "/admin/api/v1/partners/retry",
    "roles": [
      "owner",
      "admin",
      "marketer"
    ]
  },
  "uploadCosts": {
    "method": "PUT",
    "path": "/admin/api/v1/apps/:app_id/costs",
    "roles": [
      "owner",
      "admin",
      "marketer"
    ]
  },
  "listViews": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/views",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "saveView": {
    "method": "PUT",
    "path": "/admin/api/v1/apps/:app_id/views",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "removeView": {
    "method": "POST",
    "path": "/admin/api/v1/apps/:app_id/views/remove",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "listNotes": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/notes",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "writeNote": {
    "method": "POST",
    "path": "/admin/api/v1/apps/:app_id/notes",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "removeNote": {
    "method": "POST",
    "path": "/admin/api/v1/apps/:app_id/notes/remove",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "publishCvSchema": {
    "method": "POST",
    "path": "/admin/api/v1/cv-schemas",
    "roles": [
      "owner",
      "admin",
      "marketer"
    ]
  },
  "getCvSchema": {
    "method": "GET",
    "path": "/admin/api/v1/cv-schemas",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "compareCvSchema": {
    "method": "POST",
    "path": "/admin/api/v1/cv-schemas/compare",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "loadFxRates": {
    "method": "POST",
    "path": "/admin/api/v1/fx-rates",
    "roles": [
      "operator"
    ]
  },
  "getAuditObject": {
    "method": "GET",
    "path": "/admin/api/v1/audit-objects",
    "roles": [
      "owner",
      "admin"
    ]
  },
  "exportInstall": {
    "method": "GET",
    "path": "/admin/api/v1/installs/:install_uuid/export",
    "roles": [
      "owner",
      "admin",
      "privacy"
    ]
  },
  "startReplay": {
    "method": "POST",
    "path": "/admin/api/v1/replays",
    "roles": [
      "operator"
    ]
  },
  "settle": {
    "method": "POST",
    "path": "/admin/api/v1/settle",
    "roles": [
      "operator"
    ]
  },
  "reconcile": {
    "method": "POST",
    "path": "/admin/api/v1/reconcile",
    "roles": [
      "operator"
    ]
  },
  "requestErasure": {
    "method": "POST",
    "path": "/admin/api/v1/erasures",
    "roles": [
      "owner",
      "privacy"
    ]
  },
  "getErasure": {
    "method": "GET",
    "path": "/admin/api/v1/erasures",
    "roles": [
      "owner",
      "privacy"
    ]
  },
  "runErasures": {
    "method": "POST",
    "path": "/admin/api/v1/erasures/run",
    "roles": [
      "operator"
    ]
  },
  "runRetention": {
    "method": "POST",
    "path": "/admin/api/v1/retention/run",
    "roles": [
      "operator"
    ]
  },
  "listDeadLetters": {
    "method": "GET",
    "path": "/admin/api/v1/dead-letters",
    "roles": [
      "operator"
    ]
  },
  "retryDeadLetters": {
    "method": "POST",
    "path": "/admin/api/v1/dead-letters/retry",
    "roles": [
      "operator"
    ]
  },
  "rotateMasterKey": {
    "method": "POST",
    "path": "/admin/api/v1/master-key/rotate",
    "roles": [
      "operator"
    ]
  },
  "getStatus": {
    "method": "GET",
    "path": "/admin/api/v1/status",
    "roles": [
      "operator"
    ]
  },
  "listAttention": {
    "method": "GET",
    "path": "/admin/api/v1/attention",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "privacy",
      "analyst",
      "operator"
    ]
  },
  "invitePerson": {
    "method": "POST",
    "path": "/admin/api/v1/people/invite",
    "roles": [
      "owner",
      "operator"
    ]
  },
  "listPeople": {
    "method": "GET",
    "path": "/admin/api/v1/people",
    "roles": [
      "owner",
      "operator"
    ]
  },
  "changePerson": {
    "method": "POST",
    "path": "/admin/api/v1/people/change",
    "roles": [
      "owner",
      "operator"
    ]
  },
  "removePerson": {
    "method": "POST",
    "path": "/admin/api/v1/people/remove",
    "roles": [
      "owner",
      "operator"
    ]
  },
  "resetPerson": {
    "method": "POST",
    "path": "/admin/api/v1/people/reset",
    "roles": [
      "operator"
    ]
  },
  "signIn": {
    "method": "POST",
    "path": "/admin/api/v1/sign-in"
  },
  "secondFactor": {
    "method": "POST",
    "path": "/admin/api/v1/sign-in/second-factor"
  },
  "acceptInvitation": {
    "method": "POST",
    "path": "/admin/api/v1/invitations/accept"
  },
  "useReset": {
    "method": "POST",
    "path": "/admin/api/v1/resets/use"
  },
  "getSignInWays": {
    "method": "GET",
    "path": "/admin/api/v1/sign-in"
  },
  "beginOidcSignIn": {
    "method": "POST",
    "path": "/admin/api/v1/sign-in/oidc"
  },
  "answerOidc": {
    "method": "GET",
    "path": "/admin/api/v1/sign-in/oidc/callback"
  },
  "linkOidc": {
    "method": "POST",
    "path": "/admin/api/v1/me/oidc",
    "fresh": true
  },
  "unlinkOidc": {
    "method": "DELETE",
    "path": "/admin/api/v1/me/oidc",
    "fresh": true
  },
  "confirmByOidc": {
    "method": "POST",
    "path": "/admin/api/v1/me/confirm/oidc"
  },
  "getMe": {
    "method": "GET",
    "path": "/admin/api/v1/me"
  },
  "signOut": {
    "method": "POST",
    "path": "/admin/api/v1/sign-out"
  },
  "confirmPassword": {
    "method": "POST",
    "path": "/admin/api/v1/me/confirm"
  },
  "changePassword": {
    "method": "POST",
    "path": "/admin/api/v1/me/password"
  },
  "listSessions": {
    "method": "GET",
    "path": "/admin/api/v1/me/sessions"
  },
  "revokeSession": {
    "method": "POST",
    "path": "/admin/api/v1/me/sessions/:id/revoke"
  },
  "offerTotp": {
    "method": "POST",
    "path": "/admin/api/v1/me/totp",
    "fresh": true
  },
  "confirmTotp": {
    "method": "POST",
    "path": "/admin/api/v1/me/totp/confirm",
    "fresh": true
  },
  "disableTotp": {
    "method": "POST",
    "path": "/admin/api/v1/me/totp/disable",
    "fresh": true
  },
  "readAuditLog": {
    "method": "GET",
    "path": "/admin/api/v1/audit-log",
    "roles": [
      "owner",
      "admin",
      "operator"
    ]
  },
  "watchApp": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/live",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "followInApp": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/follow",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "attributionOfApp": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/reports/attribution",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "revenueOfApp": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/reports/revenue",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "cohortsOfApp": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/reports/cohorts",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "eventsOfApp": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/reports/events",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "ltvOfApp": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/reports/ltv",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "costsOfApp": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/reports/costs",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "performanceOfApp": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/reports/performance",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "receiptsOfApp": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/reports/receipts",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "skanOfApp": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/reports/skan",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "listAppInstalls": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/installs",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "getAppInstall": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/installs/:install_uuid",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "privacy",
      "analyst"
    ]
  },
  "findInApp": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/find",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "privacy",
      "analyst"
    ]
  },
  "getAppOverview": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/overview",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "getOverview": {
    "method": "GET",
    "path": "/admin/api/v1/overview",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "getFraud": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/fraud",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "listLinkClicks": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/links/:link_id/clicks",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "whatIf": {
    "method": "GET",
    "path": "/admin/api/v1/apps/:app_id/what-if",
    "roles": [
      "owner",
      "admin",
      "marketer",
      "analyst"
    ]
  },
  "attributionReport": {
    "method": "GET",
    "path": "/api/v1/reports/attribution"
  },
  "revenueReport": {
    "method": "GET",
    "path": "/api/v1/reports/revenue"
  },
  "cohortsReport": {
    "method": "GET",
    "path": "/api/v1/reports/cohorts"
  },
  "eventsReport": {
    "method": "GET",
    "path": "/api/v1/reports/events"
  },
  "ltvReport": {
    "method": "GET",
    "path": "/api/v1/reports/ltv"
  },
  "costsReport": {
    "method": "GET",
    "path": "/api/v1/reports/costs"
  },
  "performanceReport": {
    "method": "GET",
    "path": "/api/v1/reports/performance"
  },
  "receiptsReport": {
    "method": "GET",
    "path": "/api/v1/reports/receipts"
  },
  "skanReport": {
    "method": "GET",
    "path": "/api/v1/reports/skan"
  },
  "getHealth": {
    "method": "GET",
    "path": "/health"
  },
  "sendBatch": {
    "method": "POST",
    "path": "/event"
  },
  "putCosts": {
    "method": "PUT",
    "path": "/api/v1/costs"
  }
} as const
