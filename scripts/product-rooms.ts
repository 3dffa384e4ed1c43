/** The folders of the product. */
export const productRooms: readonly string[] = [
  'workflows',
  'activities',
  'client',
  'server',
  'workers',
  'telemetry',
  'testing',
];
