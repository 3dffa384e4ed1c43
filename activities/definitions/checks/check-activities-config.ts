/** Checks what `createActivities` is given, before anything of it is used. */
import { z } from 'zod';
import { checkOptions } from '../../lifecycle/check-options';
import { checkPrices } from '../../models/model-tables';
import type { ActivitiesConfig } from '../activities-config';
import { checkTenantCaps } from '../tenant-caps';

const listOf = (what: string, key: string): z.ZodType =>
  z.array(
    z.custom(
      (value) => typeof value === 'object' && value !== null && key in value,
      `give ${what}`,
    ),
    { error: `give an array of ${what}` },
  );
const table = (example: string): z.ZodType =>
  z.record(z.string(), z.unknown(), { error: `give an object such as ${example}` }).optional();

const fields = {
  // Checked where it is used.
  ...{ approvers: z.unknown().optional(), notifyOn: z.unknown().optional() },
  store: z.custom((value) => typeof value === 'object' && value !== null && 'getBlob' in value, {
    error: 'give an open store: await openStore(url)',
  }),
  providers: listOf('providers, such as anthropicProvider({ apiKey })', 'classifyError'),
  agents: listOf('agents, as defineAgent returned them', 'chain'),
  prices: table("{ 'my-model': { input: 2, output: 10 } }"),
  windows: table("{ 'my-model': 200_000 }"),
  tenantCaps: table("{ '*': { usd: 50 } }"),
  notifiers: listOf('notifiers, such as slackNotifier({ url })', 'notify').optional(),
  webUiUrl: z.string({ error: 'give an address such as http://localhost:8233' }).optional(),
  clock: z
    .custom((value) => typeof value === 'function', 'give a function such as Date.now')
    .optional(),
} satisfies Readonly<Record<keyof ActivitiesConfig, z.ZodType>>;

const schema = z.strictObject(fields, {
  error: ({ code }) => (code === 'invalid_type' ? 'give { store, providers, agents }' : undefined),
});

/** Errors: `UserError` that names each option with its fault and the remedy. */
export function checkActivitiesConfig(config: ActivitiesConfig): void {
  const remedy = `Known options: ${Object.keys(fields).sort().join(', ')}.`;
  checkOptions('createActivities', '', schema, config, remedy);
  for (const [model, prices] of Object.entries(config.prices ?? {}))
    checkPrices(`prices["${model}"]`, prices);
  if (config.tenantCaps !== undefined) checkTenantCaps(config.tenantCaps);
}
