/** Part of `npm run build`: bundles the compiled workflows for the package. */
import { writePrebuiltBundle } from './prebuilt-bundle';
import { buildOwnBundle } from './workflow-bundle';

void buildOwnBundle().then(writePrebuiltBundle);
