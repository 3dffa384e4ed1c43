/** What identifies a tool call to people and guards: label, fingerprint, digest of the exact action, privileged parameters. */
import { normalizeText, shortHash } from '../../workflows/core/errors/fingerprint';
import type { JsonObject } from '../../workflows/core/json';
import { defined } from '../../workflows/core/json';
import { stripHidden } from '../../workflows/core/secrets/hidden-characters';
import { decisionText } from '../../workflows/core/secrets/visible-text';
import type { PrivilegedUse, ProposedToolCall } from '../../workflows/core/tools/ports';
import { callLikeness } from './call-likeness';
import { withoutSecrets } from '../untrusted/known-secrets';
import { boundText, sanitizeText } from '../untrusted/sanitizer';
import { canonicalJson, contentHash } from '../stores/content-hash';
import type { Tool } from '../tools/tool';

/** Characters of a call's label in the Web UI. */
const labelChars = 80;
/** Privileged parameters of one call that are reported one by one; the others count as one (ADR 0022). */
const listedPrivileges = 16;
/** Characters of a privileged parameter's path (ADR 0022). */
const pathChars = 100;
/** Characters of a use's identity: 96 bits. */
const useChars = 16;

/** A call whose input is JSON. */
export interface NamedCall {
  readonly toolCallId: string;
  readonly name: string;
  readonly input: JsonObject;
}

/** Characters of an input that are cleaned for its label. */
const seenChars = 8_192;

/** Input property that names what the call is about, if the tool says which. */
function callLabel(tool: Tool | undefined, input: JsonObject): string | undefined {
  const value = tool?.label === undefined ? undefined : input[tool.label];
  if (typeof value !== 'string' || value === '') return undefined;
  const seen = value.slice(0, seenChars);
  const visible = stripHidden(seen);
  // Hidden characters are shown, but a secret that they part must be recognized.
  const text = withoutSecrets(visible) === visible ? decisionText(seen.replace(/\s+/g, ' ')) : seen;
  const clean = sanitizeText(text, { maxChars: seenChars }).replace(/\s+/g, ' ');
  return boundText(clean, labelChars);
}

/** Normalized identity of a call to a tool that does not exist. */
function unknownCall({ name, input }: NamedCall): Pick<ProposedToolCall, 'fingerprint'> {
  return { fingerprint: shortHash(normalizeText(`${name} ${canonicalJson(input)}`)) };
}

/**
 * Digest of the exact action: an approval is bound to it. With the definition of a tool that may change while people decide: a
 * server could give the same call another meaning (ADR 0043).
 */
export function actionDigest(
  { toolCallId, name, input }: NamedCall,
  tool: Pick<Tool, 'definitionDigest'> | undefined,
): string {
  const definition = tool?.definitionDigest?.();
  const parts = [toolCallId, name, canonicalJson(input), ...(definition ? [definition] : [])];
  return contentHash(parts.join('\n'));
}

/** The privileged parameters in use, each with the identity of tool, path and value. */
function privilegedUse(tool: Tool | undefined, call: NamedCall): PrivilegedUse | undefined {
  const found = tool?.privilegedIn(call.input) ?? [];
  if (found.length === 0) return undefined;
  const use = (...parts: readonly string[]): string =>
    contentHash(call.name, ...parts.map((part) => `\n${part}`)).slice(0, useChars);
  const parameters = found.slice(0, listedPrivileges).map(({ path, value }) => ({
    name: sanitizeText(path, { maxChars: pathChars }),
    use: use(path, canonicalJson(value)),
  }));
  const rest = found.slice(listedPrivileges);
  const more = {
    name: `${rest.length} more`,
    use: use(canonicalJson(rest.map(({ path, value }) => [path, value]))),
  };
  return {
    digest: actionDigest(call, tool),
    parameters: rest.length === 0 ? parameters : [...parameters, more],
  };
}

/** Label, fingerprint, likeness and privileged parameters of a call. */
export function callIdentity(
  tool: Tool | undefined,
  call: NamedCall,
): Pick<ProposedToolCall, 'label' | 'fingerprint' | 'alike' | 'privileged'> {
  const label = callLabel(tool, call.input);
  const privileged = privilegedUse(tool, call);
  return {
    ...defined({ label }),
    ...(tool === undefined ? unknownCall(call) : callLikeness(tool, call.input)),
    ...defined({ privileged }),
  };
}
