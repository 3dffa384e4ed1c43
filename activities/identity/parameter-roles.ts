/**
 * What a parameter is for, if only its name says it: the loop detector must know which parts of a call decide nothing
 * (ADR 0019, ADR 0030). A schema can say `cosmetic` instead, and then no name matters.
 */

const list = (names: string): ReadonlySet<string> => new Set(names.trim().split(/\s+/));

/** Roles by name, in snake_case. `test/activities/parameter-roles.test.ts` shows an example of each. */
const names = {
  /** A program. Text beside it only describes it, unless it says where the program runs. */
  command: list('command cmd code script sql statement shell_command'),
  /** The model's reasons. They never make another call. */
  reason: list(
    `reason reasoning rationale explanation purpose thought thoughts thinking why intent justification narration
     tool_call_description action_description user_intent`,
  ),
  /** Text for people in a read or beside a command; the content of a write. */
  text: list('description summary note notes comment message task goal'),
  /** The same, but in a write it may be a mere caption too. */
  caption: list('title label caption display_name status_message step'),
  /** A value that is new for every request and never content. */
  key: list('idempotency_key nonce cache_buster cb'),
  /** A value that is new for every request; in a write it may be content. */
  counter: list(
    `request_id call_id tool_call_id trace_id span_id correlation_id invocation_id uuid guid timestamp time_stamp ts now
     current_time attempt attempts retry retries retry_count try iteration counter seq sequence`,
  ),
} as const satisfies Record<string, ReadonlySet<string>>;

/** Last words of names that say where or to whom: `cwd`, `target_branch`. Never a label. */
const placeWords = list(
  `id ids key name cwd dir directory folder path paths file files package workspace project repo repository env environment
   host branch ref user account region table collection index method type kind format language glob include exclude`,
);

/** Words of names that move or resize a window over the same thing: `offset`, `page_size`. */
const windowWords = list(
  `offset limit skip take page cursor start end line lines range context before after depth timeout length count size k n num
   first last head tail`,
);
/** Words that may accompany those: `max_results` and `page_token` are windows, `token` is not. */
const windowQualifiers = list(
  'max min per from to top view number token results items chars bytes tokens ms',
);
const boundedWords = list('results items chars bytes tokens');

/** First words of names that hold a pause, and the units that may follow: `wait_ms`, `delay_seconds`. */
const waitWords = list('wait sleep delay yield poll');
const waitUnits = list('ms s sec secs seconds time for interval');

/** What a parameter is for. */
export type ParameterRole = keyof typeof names | 'place' | 'window' | 'wait';

/** `filePath` and `File-Path` as `file_path`. */
export function plainName(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[-\s]/g, '_')
    .toLowerCase();
}

/** Names whose words are remembered, and the longest of them in characters: models may invent any. */
const rememberedNames = { most: 1_000, chars: 100 } as const;
const wordsOfNames = new Map<string, readonly string[]>();

/** A name's words: `filePath` gives `file` and `path`. */
function nameWords(name: string): readonly string[] {
  const known = wordsOfNames.get(name);
  if (known !== undefined) return known;
  const words = plainName(name).split('_').filter(Boolean);
  if (wordsOfNames.size >= rememberedNames.most) wordsOfNames.clear();
  if (name.length <= rememberedNames.chars) wordsOfNames.set(name, words);
  return words;
}

function isWindow(words: readonly string[]): boolean {
  const isKnown = words.every((word) => windowWords.has(word) || windowQualifiers.has(word));
  const isBound = words[0] === 'max' && words.some((word) => boundedWords.has(word));
  return isKnown && (isBound || words.some((word) => windowWords.has(word)));
}

function isWait([first = '', ...units]: readonly string[]): boolean {
  return waitWords.has(first) && units.every((word) => waitUnits.has(word));
}

/** Whether a parameter has one of the roles. */
export function hasRole(name: string, ...roles: readonly ParameterRole[]): boolean {
  const words = nameWords(name);
  return roles.some((role) => {
    if (role === 'place') return placeWords.has(words.at(-1) ?? '');
    if (role === 'window') return isWindow(words);
    return role === 'wait' ? isWait(words) : names[role].has(words.join('_'));
  });
}

/** Whether a tool does nothing but wait, by its name: `wait`, `sleep_for`. */
export function isWaitTool(name: string): boolean {
  return nameWords(name).some((word) => ['wait', 'sleep', 'delay', 'pause', 'idle'].includes(word));
}
