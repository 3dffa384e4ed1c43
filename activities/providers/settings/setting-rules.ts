/** How a wire maps settings to its request: one rule a setting, which is also what refuses it when the worker starts. */
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import { isRecord } from '../untrusted-json';
import type { ModelSettings } from './model-settings';

/** The fields of the request that a setting becomes; a text says why it cannot be sent, and what to do. */
export type Mapped = JsonObject | string;

/** Rules of one wire for one model. Contract: every setting has one, so that none is dropped in silence. */
export type SettingRules = {
  readonly [Name in keyof ModelSettings]-?: (value: NonNullable<ModelSettings[Name]>) => Mapped;
};

function* mappedSettings(
  settings: ModelSettings,
  rules: SettingRules,
): Generator<readonly [name: string, value: unknown, mapped: Mapped]> {
  for (const [name, rule] of Object.entries(rules)) {
    const value = settings[name as keyof ModelSettings];
    // Each rule takes its own setting's value.
    if (value !== undefined) yield [name, value, (rule as (value: unknown) => Mapped)(value)];
  }
}

/** Fields of the request. Contract: pure; what cannot be sent is left out. */
export function settingFields(settings: ModelSettings = {}, rules: SettingRules): JsonObject {
  let fields: JsonObject = {};
  for (const [, , mapped] of mappedSettings(settings, rules))
    if (typeof mapped !== 'string') fields = { ...fields, ...mapped };
  return fields;
}

/** Characters of a value in a problem. */
const shownChars = 120;

/** What cannot be sent, each with its value and what to do; undefined if all can. */
export function settingsProblem(settings: ModelSettings, rules: SettingRules): string | undefined {
  const problems = [...mappedSettings(settings, rules)].flatMap(([name, value, mapped]) =>
    typeof mapped === 'string'
      ? [`${name} ${JSON.stringify(value).slice(0, shownChars)} ${mapped}`]
      : [],
  );
  return problems.length === 0 ? undefined : problems.join(' ');
}

/** The value at a path such as `text.format`. */
function valueAt(body: JsonObject, path: string): JsonValue | undefined {
  return path
    .split('.')
    .reduce<JsonValue | undefined>(
      (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
      body,
    );
}

/** Largest `extraBody` and largest `extraHeaders`, in bytes of JSON. */
const mostExtraBytes = 16_384;

function tooLarge(value: object): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(value));
  return bytes > mostExtraBytes
    ? `has ${bytes} bytes of JSON; at most ${mostExtraBytes} are taken.`
    : undefined;
}

/** The rule for `extraBody` on a wire that owns these fields. They are merged by `withExtraBody`. */
export function extraBodyRule(owned: readonly string[]): SettingRules['extraBody'] {
  return (extra) => {
    const taken = owned.filter((path) => valueAt(extra, path) !== undefined);
    return taken.length === 0
      ? (tooLarge(extra) ?? {})
      : `names ${taken.join(', ')}, which Holdfast sends itself; leave it out, and use the route's own fields.`;
  };
}

/** Headers that carry credentials, frame the message, or name the version of the API that the adapter speaks. */
const ownedHeaders =
  /^(?:.*authorization|.*-(?:api-)?key|api-key|cookie|host|connection|te|trailer|upgrade|expect|transfer-encoding|content-.*|accept(?:-encoding)?|anthropic-version|x-stainless-.*|user-agent)$/i;

/** The rule for `extraHeaders`, on every wire. */
export const extraHeadersRule: SettingRules['extraHeaders'] = (headers) => {
  const names = Object.keys(headers);
  const owned = names.filter((name) => ownedHeaders.test(name));
  if (owned.length > 0)
    return `names ${owned.join(', ')}, which Holdfast sends itself; credentials belong into the provider's \`apiKey\` or \`headers\`.`;
  const bad = names.filter(
    (name) => !/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\t\x20-\x7e]*$/.test(headers[name] ?? ''),
  );
  return bad.length === 0
    ? (tooLarge(headers) ?? {})
    : `has names or values that a header cannot carry (${bad.join(', ')}); use ASCII without line breaks.`;
};

function isObject(value: JsonValue | undefined): value is JsonObject {
  return isRecord(value);
}

/**
 * The body with the extra fields of the route, objects merged.
 *
 * Contract: pure; every value of the body stays as it is.
 */
export function withExtraBody<Body extends object>(
  body: Body,
  { extraBody }: ModelSettings = {},
): Body {
  return extraBody === undefined ? body : (mergedUnder(body, extraBody) as Body);
}

function mergedUnder(own: object, extra: JsonObject): object {
  const both = Object.entries(own).map(([key, value]: [string, unknown]) => {
    const added = Object.hasOwn(extra, key) ? extra[key] : undefined;
    return [key, isRecord(value) && isObject(added) ? mergedUnder(value, added) : value] as const;
  });
  return { ...extra, ...Object.fromEntries(both) };
}
