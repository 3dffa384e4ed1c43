/** What differs between Claude's generations when a request is measured, read off the model's name. */

const version = /claude-[a-z]+-(\d{1,2})(?:-(\d{1,2}))?(?![\d])/;

/**
 * True from Claude Opus 4.7 on: a newer tokenizer, and images up to 2,576 px. A name without a version in this form is taken
 * for a newer one, where more is counted.
 *
 * Source: the vendor's token counting guide and its page on Claude Opus 4.7.
 */
export function isNewerClaude(model: string): boolean {
  const name = model.toLowerCase();
  if (/claude-(?:\d|instant)/.test(name)) return false;
  const match = version.exec(name);
  if (match?.[1] === undefined) return true;
  return Number(match[1]) * 100 + Number(match[2] ?? 0) >= 407;
}
