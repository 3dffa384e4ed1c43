/** Part of `npm run build`: bundles the compiled workflows for the package, once without and once with telemetry's module. */
import type { BundleExtras } from '../workers/prebuilt-bundle';
import { writePrebuiltBundles } from '../workers/prebuilt-bundle';
import { buildOwnBundle, bundleExtras } from '../workers/workflow-bundle';
import { withWorkflowModule } from './start-telemetry';

async function main(): Promise<void> {
  const bundles: [BundleExtras, string][] = [];
  for (const extras of [{}, bundleExtras(withWorkflowModule({}))])
    bundles.push([extras, await buildOwnBundle(extras)]);
  writePrebuiltBundles(bundles);
}

void main();
