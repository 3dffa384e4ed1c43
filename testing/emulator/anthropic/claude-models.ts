/** What differs between Claude models on the wire, read off the model's name. */

/** Models that bind their thinking to everything before it (vendor's guide "Prefix checks on thinking blocks"). */
const preserving = /^claude-(?:(?:fable|mythos)-5-[12]|(?:opus|sonnet|haiku)-5-5)\b/;

/** True for models that refuse thinking whose prefix has changed. */
export function hasPreservedThinking(model: string): boolean {
  return preserving.test(model);
}

/** Version of a Claude model as `major * 100 + minor`, or undefined for other names. */
function versionOf(model: string): number | undefined {
  const match = /^claude-[a-z]+-(\d)(?:-(\d{1,2}))?(?:-|$)/.exec(model);
  if (match?.[1] === undefined) return undefined;
  return Number(match[1]) * 100 + Number(match[2] ?? 0);
}

/** Fixed thinking budgets ended with Claude 4.7 (vendor's guide "Troubleshooting thinking"). */
export function refusesFixedThinking(model: string): boolean {
  return (versionOf(model) ?? 0) >= 407;
}

/** Effort began with Claude 4.5 Opus; other models of 4.5 and older refuse it (vendor's guide "Effort"). */
export function refusesEffort(model: string): boolean {
  return (versionOf(model) ?? 1000) <= 405 && !model.startsWith('claude-opus-4-5');
}

/** Adaptive thinking began with Claude 4.6 (same guide). */
export function refusesAdaptiveThinking(model: string): boolean {
  return (versionOf(model) ?? 1000) <= 405;
}
