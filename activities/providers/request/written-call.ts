/** Recognizes a tool call that a model wrote as text, where only a native call, or the block that was taught, is one. */
import { isRecord, parsedJson } from '../untrusted-json';
import { withPlainMarks } from './call-markup';

/** A call that was written as text. */
export interface WrittenCall {
  readonly name: string;
  /** The model may call a tool of this name. */
  readonly isKnown: boolean;
}

/** Keys that name a tool, and keys that hold its input, in the formats of models, templates, and frameworks. */
const nameKeys = ['tool_name', 'name', 'tool', 'function', 'function_name', 'action'];
export const inputKeys: readonly string[] = [
  'arguments',
  'inputs',
  'input',
  'parameters',
  'params',
  'args',
  'action_input',
  'tool_input',
];
/** Keys beside them; with any other key the object is data: a package, a schema, a record. */
const besideKeys = ['id', 'call_id', 'type', 'index', 'thought', 'reason', 'reasoning'];
/** Keys around a call. */
const wrapperKeys = ['tool_calls', 'tool_call', 'function_call', 'calls', 'call', 'function'];

/** What a piece of text calls. */
interface Written {
  readonly name: string;
  /** It has an input: one that names a tool only is a call if nothing else is said. */
  readonly hasInput: boolean;
  /** Nothing but a call has this form, so that an unknown name is a call as well. */
  readonly isSure: boolean;
  /** Code and reports have this form too: beside prose it is a call only if that announces one. */
  readonly isCode?: true;
}

function callOfJson(value: unknown, known: ReadonlySet<string>): Written | undefined {
  if (Array.isArray(value)) {
    const calls = value.map((item) => callOfJson(item, known));
    return calls.every((call) => call !== undefined) ? calls[0] : undefined;
  }
  if (!isRecord(value)) return undefined;
  const keys = Object.keys(value).filter((key) => !besideKeys.includes(key));
  const [only = ''] = keys;
  const isWrapper =
    keys.length === 1 && wrapperKeys.includes(only) && typeof value[only] === 'object';
  return isWrapper ? callOfJson(value[only], known) : callOfFields(value, keys, known);
}

function callOfFields(
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  known: ReadonlySet<string>,
): Written | undefined {
  const nameKey = keys.find((key) => nameKeys.includes(key)) ?? '';
  const inputKey = keys.find((key) => inputKeys.includes(key));
  const name = value[nameKey];
  if (typeof name !== 'string' || keys.length > 2) return undefined;
  const isSure = nameKey === 'tool_name' || inputKey === 'arguments';
  if (inputKey === undefined)
    return keys.length === 1 && nameKey !== 'name' ? { name, hasInput: false, isSure } : undefined;
  const input = value[inputKey];
  const hasInput = isRecord(input) || (typeof input === 'string' && known.has(name));
  return hasInput ? { name, hasInput, isSure } : undefined;
}

/** Characters of JSON that are read at one place, and places in a text: a long text must not cost a worker its time. */
const jsonChars = 20_000;
const mostPlaces = 40;

/** The end of the object or list that begins at `from`; the end of the text if it is never closed. */
function endOfJson(text: string, from: number): number {
  let [depth, isText] = [0, false];
  const last = Math.min(text.length, from + jsonChars);
  for (let at = from; at < last; at += 1) {
    const unit = text[at] ?? '';
    if (isText && unit === '\\') at += 1;
    else if (unit === '"') isText = !isText;
    else if (!isText && '{['.includes(unit)) depth += 1;
    else if (!isText && '}]'.includes(unit)) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return text.length;
}

/** JSON that is broken (doubled braces, cut off) but has a call's two keys, with the name of a tool. */
function brokenCall(json: string, known: ReadonlySet<string>): Written | undefined {
  const named = new RegExp(`"(?:${nameKeys.join('|')})"\\s*:\\s*"([^"\\n]{1,64})"`).exec(json)?.[1];
  const hasInput = new RegExp(`"(?:${inputKeys.join('|')})"\\s*:`).test(json);
  return named !== undefined && hasInput && known.has(named)
    ? { name: named, hasInput, isSure: false }
    : undefined;
}

/** A text of which some pieces were read as calls; a mark stands for each. */
interface Reading {
  readonly rest: string;
  readonly calls: readonly Written[];
}

/** Stands for a call that was read; a text's own ones are removed before. */
const mark = '\u0001';

/** Words that may stand between the beginning of a line and a bare input: `add {"a": 1}`, `Tool: add {…}`. */
const bareName =
  /^(?:(?:call|use|tool|function|action|invoke)\s*:?\s+)?[`*]*([\w.-]{1,64})[`*]*(?:\s+with)?\s*$/i;

/** Whether JSON between these parts of its lines is a quotation or code: after `>`, a backtick, `=`, or with words after it. */
function isQuoted(lead: string, after: string): boolean {
  const [restOfLine = ''] = after.split('\n', 1);
  return /^\s*>|[`=]\s*$/.test(lead) || /[^\s.;,)}\]]/.test(restOfLine);
}

/** The call that JSON is, and whether the words before it in its line are a part of the call. */
function callOfText(
  lead: string,
  json: string,
  known: ReadonlySet<string>,
): readonly [Written, boolean] | undefined {
  const value = parsedJson(json);
  const call = value === undefined ? brokenCall(json, known) : callOfJson(value, known);
  if (call !== undefined) return [call, false];
  const name = bareName.exec(lead)?.[1] ?? '';
  return known.has(name) && isRecord(value)
    ? [{ name, hasInput: true, isSure: false }, true]
    : undefined;
}

/** Reads JSON that stands alone in its lines, or that ends one: `I will look: {…}`. */
function readJson(text: string, known: ReadonlySet<string>): Reading {
  const calls: Written[] = [];
  let [rest, at] = ['', 0];
  for (const { index } of [...text.matchAll(/[{[]/g)].slice(0, mostPlaces)) {
    if (index < at) continue;
    const end = endOfJson(text, index);
    const lineStart = Math.max(at, text.lastIndexOf('\n', index - 1) + 1);
    const lead = text.slice(lineStart, index);
    const found = isQuoted(lead, text.slice(end))
      ? undefined
      : callOfText(lead, text.slice(index, end), known);
    if (found === undefined) continue;
    const [call, isWithLead] = found;
    calls.push(call);
    rest += `${text.slice(at, isWithLead ? lineStart : index)}${mark}`;
    at = end;
  }
  return { rest: rest + text.slice(at), calls };
}

/** Marks around calls in the formats of models; they are nothing but marks. */
const tags =
  /<\/?(?:tool_calls?|function_calls?|tool_use|tools)>|\[\/?TOOL_CALLS?\]|<\|[\w-]{1,40}\|>|<｜[^｜>\n]{1,40}｜>/g;

/** Calls that are not JSON: each form with what a match of it says. Names of tools come first in each. */
const forms: readonly (readonly [RegExp, Omit<Written, 'name'>])[] = [
  [
    /^[ \t]*<function=["']?([\w.-]{1,64})["']?>[^]*?(?:<\/function>|$(?![^]))/gm,
    { hasInput: true, isSure: true },
  ],
  [
    /^[ \t]*<invoke name="([\w.-]{1,64})">[^]*?(?:<\/invoke>|$(?![^]))/gm,
    { hasInput: true, isSure: true },
  ],
  [
    /^[ \t*]*(?:action|tool|function|tool[ _]name)[ \t*]*:[ \t*`]*([\w.-]{1,64})[`* \t]*\n[ \t*]*(?:action[ _]input|arguments|args|inputs?|parameters)[ \t*]*:[^]*?(?:\n[ \t]*\n|$(?![^]))/gim,
    { hasInput: true, isSure: false, isCode: true },
  ],
  [
    /^[ \t]*(?:await |print\()?(?:functions?\.)?([\w.-]{1,64})\([^\n]*\)[ \t]*;?[ \t]*$/gm,
    { hasInput: true, isSure: false, isCode: true },
  ],
];

function readForms(text: string, known: ReadonlySet<string>): Reading {
  const calls: Written[] = [];
  let rest = text;
  for (const [form, says] of forms)
    rest = rest.replace(form, (whole: string, name: string) => {
      if (!says.isSure && !known.has(name)) return whole;
      calls.push({ name, ...says });
      return mark;
    });
  return { rest, calls };
}

function readPlain(text: string, known: ReadonlySet<string>): Reading {
  const formed = readForms(text, known);
  const plain = formed.rest.replace(tags, '\n');
  const json = readJson(plain, known);
  const isTagged = plain !== formed.rest;
  const calls = json.calls.map((call) => ({ ...call, isSure: call.isSure || isTagged }));
  return { rest: json.rest, calls: [...formed.calls, ...calls] };
}

const fence = /^[ \t]*```([^\n`]*)\n([^]*?)(?:^[ \t]*```[ \t]*$|$(?![^]))/gm;

/** Reads the whole text. A fence is a call if it holds nothing else; any other is a sample, and what it shows is no call. */
function read(text: string, known: ReadonlySet<string>): Reading {
  const calls: Written[] = [];
  const unfenced = text.replace(fence, (_whole, _language, content: string) => {
    const inside = readPlain(content, known);
    if (inside.calls.length === 0 || proseOf(inside.rest) !== '') return '(code)';
    calls.push(...inside.calls);
    return mark;
  });
  const outside = readPlain(unfenced, known);
  return { rest: outside.rest, calls: [...calls, ...outside.calls] };
}

function proseOf(rest: string): string {
  return rest
    .replaceAll(mark, '')
    .replace(/^[\s`;,.]+$/, '')
    .trim();
}

/** What the words beside a call make of it; the first row that fits decides. */
const cues: readonly {
  readonly says: 'sample' | 'call' | 'report';
  readonly words: RegExp;
}[] = [
  {
    // Shows what a call looks like, or tells a reader to make one.
    says: 'sample',
    words:
      /\b(?:examples?|e\.g\.|for instance|such as|samples?|looks? like|like (?:this|so)|schema|syntax|templates?|documentation|specification|you(?:r \w+)? (?:can|could|would|should|may|might|must|need|have|send|call|write|use|pass|get)|to (?:call it|test|reproduce)|(?:put|post|paste|copy|save) (?:this|the following)|(?:clients?|callers?|users?|apps?|server|api|endpoint|protocol|format|body|request) (?:\w+ ){0,2}(?:sends?|expects?|takes?|accepts?|uses?|posts?|is|are))\b/i,
  },
  {
    // Announces a call.
    says: 'call',
    words:
      /\b(?:I(?:'ll|’ll| will| am going to|'m going to| need to| must| should| can| want to|'d like to| would like to)|let me|let us|let's|we (?:will|need to|must|should|can)|going to|(?:next|now|first),? (?:I|we|step|call)|calling|using|use the \w+ (?:tool|function))\b/i,
  },
  {
    // Reports a call that was made, or describes data.
    says: 'report',
    words:
      /\b(?:was|were|been|has|had|called|sent|ran|tried|made|logged|recorded|returned|failed|contains|accepts|expects|takes|wrote|stored|found|reads|entry|entries|line|log|file|config\w*|answer|result)\b/i,
  },
];

/** Characters before a call and after it in which words are looked for, and characters of prose beside one that is not announced. */
const nearChars = 240;
const plainProseChars = 300;

function isMeant({ rest, calls }: Reading): boolean {
  const before = rest.slice(0, rest.indexOf(mark)).slice(-nearChars);
  const after = rest.slice(rest.lastIndexOf(mark) + 1).slice(0, nearChars);
  const found = cues.find(({ says, words }) =>
    words.test(says === 'sample' ? `${before}\n${after}` : before),
  );
  if (found !== undefined) return found.says === 'call';
  return calls.every(({ isCode }) => isCode !== true) && proseOf(rest).length <= plainProseChars;
}

/**
 * The call that a text holds; undefined if the text is an answer.
 *
 * Contract: pure; never throws. What it recognizes, and what stays an answer, is the table of ADR 0036.
 */
export function writtenCall(text: string, tools: readonly string[]): WrittenCall | undefined {
  const known = new Set(tools);
  const reading = read(
    withPlainMarks(text.replaceAll(mark, ''))
      .trim()
      .replace(/^`([^`]+)`$/, '$1'),
    known,
  );
  const [call] = reading.calls;
  if (call === undefined) return undefined;
  const { name, hasInput, isSure } = call;
  const isKnown = known.has(name);
  const isAlone = proseOf(reading.rest) === '';
  const isCall = isAlone
    ? isKnown || (isSure && hasInput)
    : isKnown && hasInput && isMeant(reading);
  return isCall ? { name, isKnown } : undefined;
}
