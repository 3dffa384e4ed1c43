/** Recognizes refusals of what a request sends back of the model's own thoughts (ADR 0046). */
import type { ThoughtReplay } from '../../../workflows/core/failure';
import type { ErrorEvidence } from './error-evidence';

/** Sentences of vendors, and what they ask for. The first that fits decides; distances are bounded, so that no text takes long. */
const sentences: readonly (readonly [ThoughtReplay, RegExp])[] = [
  // Kimi, DeepSeek: "reasoning_content is missing in assistant tool call message", "must be passed back to the API".
  [
    'with-text',
    /(?:reasoning_content|content\[\]\.thinking)\W.{0,60}(?:is missing|is required|must be (?:passed|sent|provided))|missing.{0,30}\breasoning_content\b/i,
  ],
  // Gemini: "Function call is missing a thought_signature in functionCall parts".
  ['with-signatures', /missing (?:a |an |its )?`?thought_?signature/i],
  // OpenAI: another organization's, another deployment's, or an item without its partner.
  [
    'omitted',
    /invalid_encrypted_content|encrypted content .{0,160}could not be (?:verified|decrypted)/i,
  ],
  // xAI (Wei-Shaw/sub2api#4535, chenyme/grok2api#688), and servers that do not know the field.
  [
    'omitted',
    /could not de(?:crypt|code) the .{0,20}(?:encrypted_content|compaction blob)|\bunknown parameter.{0,30}encrypted_content/i,
  ],
  ['omitted', /\brs_\w{1,80}.{0,30}(?:of type .{0,3}reasoning|not found|remove duplicate items)/i],
  // Anthropic: another account's, a changed prompt, a turn that must begin with its own thought.
  [
    'omitted',
    /invalid .{0,3}(?:signature|data).{0,6} in .{0,3}(?:redacted_)?thinking|thinking\.signature: field required/i,
  ],
  ['omitted', /(?:redacted_)?thinking.{0,80}(?:cannot be modified|but found)/i],
  // Gemini.
  [
    'omitted',
    /(?:invalid|corrupted|malformed) thought[_ ]?signature|thought[_ ]?signature.{0,40}(?:not valid|invalid|corrupted)/i,
  ],
  // Servers that do not know the field, such as Mistral: "Extra inputs are not permitted".
  [
    'omitted',
    /\breasoning(?:_content|_details)?["'`\]].{0,80}(?:not permitted|not supported|unsupported|unknown|unrecognized|unexpected)/i,
  ],
  [
    'omitted',
    /(?:extra_forbidden|not permitted|unsupported|unknown|unrecognized|unexpected).{0,80}(?:["'`.]reasoning(?:_content|_details)?|\breasoning_(?:content|details))\b/i,
  ],
];

/** Characters of the vendor's words that are read. */
const readChars = 4_000;

/**
 * What the vendor demands of the thoughts in a repeated request; undefined if its refusal is about something else.
 *
 * Contract: pure; takes time in proportion to the text.
 */
export function refusedThoughts({ bodies, chain }: ErrorEvidence): ThoughtReplay | undefined {
  const words = [
    ...bodies.map(({ raw }) => JSON.stringify(raw)),
    ...chain.map((link) => link.message),
  ];
  const text = words.join('\n').replaceAll('\\', '').slice(0, readChars);
  return sentences.find(([, sentence]) => sentence.test(text))?.[0];
}
