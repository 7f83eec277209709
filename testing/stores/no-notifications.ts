/** Parts of a gateway that gets postbacks alone: no app is known, so no notification is proven or stored. */
export const noNotifications = {
  notifiedApps: { find: async () => null },
  storeProofs: { apple: () => refuse(), google: () => refuse() },
  notificationGroups: { append: () => refuse() },
  notification_partitions: 1,
}

function refuse(): never {
  throw new Error('This gateway gets no notifications.')
}
