/** Holdfast's search attributes, and their registration on any Temporal cluster. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';
import { isGrpcServiceError } from '@temporalio/client';
import { searchAttributes } from '../workflows/contract';
import { reasonOf, SetupError } from './setup-error';

/** Types of search attribute that Holdfast uses. */
export type SearchAttributeTypeName = 'Keyword' | 'Int' | 'Double';

/**
 * What a run shows in lists and can be found by.
 *
 * Source: R-RUN-9.
 */
export const holdfastSearchAttributes: Readonly<Record<string, SearchAttributeTypeName>> = {
  [searchAttributes.status]: 'Keyword',
  [searchAttributes.agent]: 'Keyword',
  [searchAttributes.provider]: 'Keyword',
  [searchAttributes.reason]: 'Keyword',
  [searchAttributes.iteration]: 'Int',
  [searchAttributes.tenant]: 'Keyword',
  [searchAttributes.usd]: 'Double',
};

type ServerAccess = Pick<Connection, 'operatorService' | 'workflowService'>;

/** Names in `temporal.api.enums.v1.IndexedValueType`, each at the place of its number. */
const typeNames = 'UNSPECIFIED TEXT KEYWORD INT DOUBLE BOOL DATETIME KEYWORD_LIST'.split(' ');
const codeOf = (type: SearchAttributeTypeName): number => typeNames.indexOf(type.toUpperCase());

/** Servers refresh their caches of search attributes every 10 s at most. */
const usableWithinMs = 30_000;
const pollMs = 200;
/** gRPC's invalid-argument. */
const invalidArgument = 3;

/**
 * Adds the search attributes that the namespace lacks and waits until runs can be started and found with them.
 *
 * Contract: idempotent, safe when two callers do it at once; never changes or removes an attribute.
 * Errors: `SetupError` if one exists with another type, if the caller may not add (Temporal Cloud: names the command
 * to use there), if the namespace is unknown, or if they cannot be used within 30 s.
 */
export async function registerSearchAttributes(
  connection: ServerAccess,
  namespace: string,
): Promise<{ readonly added: readonly string[]; readonly present: readonly string[] }> {
  const added = await missingFrom(connection, namespace);
  if (added.length > 0) await addAttributes(connection, namespace, added);
  const deadline = Date.now() + usableWithinMs;
  while (!(await areUsable(connection, namespace))) {
    if (Date.now() >= deadline)
      throw new SetupError(
        `Namespace "${namespace}" has Holdfast's search attributes, but Temporal takes no query with them after ` +
          `${usableWithinMs / 1000} s. Run \`holdfast setup\` again, or look at the server's log.`,
      );
    await delay(pollMs);
  }
  const present = Object.keys(holdfastSearchAttributes).filter((name) => !added.includes(name));
  return { added, present };
}

/**
 * Whether the server takes a query with every attribute. Other servers than the embedded one list a new attribute at once, but
 * refuse to start runs with it, or to find them by it, until their cache is fresh.
 */
async function areUsable({ workflowService }: ServerAccess, namespace: string): Promise<boolean> {
  const query = Object.keys(holdfastSearchAttributes)
    .map((name) => `${name} IS NULL`)
    .join(' AND ');
  try {
    await workflowService.countWorkflowExecutions({ namespace, query });
    return true;
  } catch (thrown) {
    const code: number | undefined = isGrpcServiceError(thrown) ? thrown.code : undefined;
    if (code === invalidArgument) return false;
    throw new SetupError(
      `Temporal did not count the runs of namespace "${namespace}": ${reasonOf(thrown)}. ` +
        'Check TEMPORAL_NAMESPACE and that the account may read the namespace.',
      { cause: thrown },
    );
  }
}

/** The attributes that the namespace lacks. */
async function missingFrom(
  { operatorService }: ServerAccess,
  namespace: string,
): Promise<readonly string[]> {
  const { customAttributes: known } = await operatorService
    .listSearchAttributes({ namespace })
    .catch((thrown: unknown) => {
      throw new SetupError(
        `Temporal did not list the search attributes of namespace "${namespace}": ${reasonOf(thrown)}. ` +
          'Check TEMPORAL_NAMESPACE and that the account may read the namespace.',
        { cause: thrown },
      );
    });
  for (const [name, type] of Object.entries(holdfastSearchAttributes)) {
    const found: number | undefined = known[name];
    if (found !== undefined && found !== codeOf(type))
      throw new SetupError(
        `Search attribute ${name} of namespace "${namespace}" has type INDEXED_VALUE_TYPE_${typeNames[found] ?? found}, ` +
          `Holdfast needs ${type}. Remove it with \`temporal operator search-attribute remove --name ${name}\` ` +
          'if nothing else uses it, or use another namespace.',
      );
  }
  return Object.keys(holdfastSearchAttributes).filter((name) => known[name] === undefined);
}

async function addAttributes(
  connection: ServerAccess,
  namespace: string,
  names: readonly string[],
): Promise<void> {
  const toAdd = Object.fromEntries(
    names.map((name) => [name, codeOf(holdfastSearchAttributes[name] ?? 'Keyword')]),
  );
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: toAdd,
    });
  } catch (thrown) {
    const reason = reasonOf(thrown);
    if (/already exist/i.test(reason)) return;
    const commands = names.map(
      (name) => `--search-attribute "${name}=${holdfastSearchAttributes[name] ?? 'Keyword'}"`,
    );
    throw new SetupError(
      `Temporal did not add the search attributes ${names.join(', ')} to namespace "${namespace}": ${reason}. ` +
        'On Temporal Cloud they are added by an account admin: ' +
        `\`tcld namespace search-attributes add --namespace ${namespace} ${commands.join(' ')}\`.`,
      { cause: thrown },
    );
  }
}
