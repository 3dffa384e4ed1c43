/**
 * The activity `checkEdit`: verifies the signature of a decision where the run takes signed ones only, checks arguments that a
 * person changed, and writes what the model reads about the change.
 */
import { failureMessageChars, inlineInputBytes } from '../workflows/core/limits';
import type { JsonObject } from '../workflows/core/json';
import { defined } from '../workflows/core/json';
import type { CheckEditInput, CheckEditResult } from '../workflows/core/people/ports';
import { argumentsText } from '../workflows/core/people/signed-decision';
import type { ActivityDeps } from './definitions/activity-deps';
import { loadDefinition, storeOf } from './definitions/activity-deps';
import { problemOfSignature } from './definitions/approvers';
import { actionDigest, callIdentity } from './identity/call-identity';
import { inertLine } from '../workflows/core/secrets/inert-tags';
import { fenceToolOutput } from './untrusted/fence';
import { editedFileOf } from './tools/edits-file';
import { InfraException } from './lifecycle/infra-exception';
import { thisWorker } from './lifecycle/worker-identity';
import { sanitizeText } from './untrusted/sanitizer';
import type { Store } from './stores/store';
import { canonicalJson, contentHash } from './stores/content-hash';
import { carriageProblem } from './model-call/tool-call-intake';
import { requireTool } from './tool-call/tool-of-run';
import { isJsonObject } from './tools/input-schema';
import type { Tool } from './tools/tool';

/** Characters of the new values that the model sees (ADR 0022). */
const shownChangeChars = 1_000;
/** Characters of the names of the changed arguments (ADR 0022). */
const shownNamesChars = 200;

/** The input of a check, where a person changed the arguments. */
type Edit = CheckEditInput & { readonly input: JsonObject };

function isEdit(given: CheckEditInput): given is Edit {
  return given.input !== undefined;
}

/** What is wrong with the signature of a decision; undefined if nothing is, or the run needs none. */
function signatureProblem(deps: ActivityDeps, given: CheckEditInput): string | undefined {
  const { signed, toolCallId } = given;
  if (signed === undefined) return undefined;
  if (deps.approvers === undefined)
    throw new InfraException({
      code: 'worker_mismatch',
      message: `${thisWorker()} has no approvers, and this run takes signed decisions only. Give it the public keys (approvers of createActivities, HOLDFAST_APPROVERS); until then other workers of the task queue are tried.`,
    });
  const { runKey, signature, ...decision } = signed;
  const inputDigest = isEdit(given) ? contentHash(argumentsText(given.input)) : undefined;
  const whole = { ...decision, approvalId: toolCallId, ...defined({ inputDigest }) };
  return problemOfSignature(deps.approvers, runKey, whole, signature);
}

async function originalOf(store: Store, given: Edit): Promise<JsonObject> {
  if (given.originalBlob === undefined) return given.original ?? {};
  const value: unknown = JSON.parse((await store.getBlob(given.originalBlob)).toString('utf8'));
  return isJsonObject(value) ? value : {};
}

function problemsOf(tool: Tool, input: JsonObject): string | undefined {
  const unusable = carriageProblem(input);
  if (unusable !== undefined) return unusable;
  const checked = tool.parse(input);
  return checked.ok ? undefined : checked.problems.join('; ');
}

/** Whether the tool has another definition than the person saw: changed arguments of it would be for another tool (ADR 0043). */
async function isOtherTool(tool: Tool, given: Edit, original: JsonObject): Promise<boolean> {
  const { toolCallId, name, shownDigest } = given;
  if (shownDigest === undefined || tool.definitionDigest === undefined) return false;
  await tool.readDefinition?.().catch(() => undefined);
  return actionDigest({ toolCallId, name, input: original }, tool) !== shownDigest;
}

function same(one: JsonObject, other: JsonObject, name: string): boolean {
  return (
    Object.hasOwn(one, name) === Object.hasOwn(other, name) &&
    canonicalJson({ value: one[name] ?? null }) === canonicalJson({ value: other[name] ?? null })
  );
}

/** What the model reads before the result, so that it knows what ran. */
function noticeOf(given: Edit, original: JsonObject): string | undefined {
  const { input, name, toolCallId } = given;
  const names = [...new Set([...Object.keys(original), ...Object.keys(input)])];
  const changed = names.filter((each) => !same(original, input, each));
  if (changed.length === 0) return undefined;
  const values = Object.fromEntries(
    changed.flatMap((each) => {
      const value = input[each];
      return value === undefined ? [] : [[each, value] as const];
    }),
  );
  const bound = (text: string, maxChars: number): string =>
    sanitizeText(text, { maxChars, asGiven: true });
  const listed = (keys: readonly string[]): string =>
    inertLine(bound(keys.join(', '), shownNamesChars));
  const removed = changed.filter((each) => !Object.hasOwn(input, each));
  return [
    `[Agent runtime: a person changed these arguments of the call before approving it: ${listed(changed)}. It ran with the values below, not with yours.]`,
    ...(removed.length === 0 ? [] : [`Removed: ${listed(removed)}`]),
    fenceToolOutput(name, bound(JSON.stringify(values), shownChangeChars), `${toolCallId}/edit`),
  ].join('\n');
}

/**
 * Checks a decision: its signature, then changed arguments against the tool's schema.
 *
 * Contract: nothing runs. Arguments above `inlineInputBytes` are stored and passed by reference.
 * Errors: ApplicationFailure with a system failure code; what is wrong with the arguments is in the result.
 */
export async function checkEdit(
  deps: ActivityDeps,
  given: CheckEditInput,
): Promise<CheckEditResult> {
  const store = storeOf(deps, given.storeId);
  const forged = signatureProblem(deps, given);
  if (forged !== undefined) return { type: 'refused', problems: forged };
  if (!isEdit(given)) return { type: 'accepted' };
  const definition = await loadDefinition(deps, given.definition);
  const { config } = definition;
  const { name, input, toolCallId } = given;
  const tool = requireTool(definition, name);
  const problems = problemsOf(tool, input);
  if (problems !== undefined)
    return { type: 'refused', problems: sanitizeText(problems, { maxChars: failureMessageChars }) };
  const original = await originalOf(store, given);
  if (await isOtherTool(tool, given, original))
    return {
      type: 'refused',
      problems: `The definition of ${name} has changed since the call was shown. Reject it; if the model makes it again, you are asked about the tool as it is now.`,
    };
  const json = canonicalJson(input);
  const isInline = Buffer.byteLength(json) <= inlineInputBytes;
  const notice = noticeOf(given, original);
  const call = { toolCallId, name, input };
  return {
    type: 'accepted',
    call: {
      ...callIdentity(tool, call),
      ...(await editedFileOf(tool, input, config.workspace)),
      ...(isInline ? { input } : { inputBlob: await store.putBlob(json) }),
      approvalDigest: actionDigest(call, tool),
      ...defined({ editNotice: notice }),
    },
  };
}
