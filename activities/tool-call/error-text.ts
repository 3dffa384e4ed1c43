/** What the model may read of an error that a tool threw: names, messages, status, and the text of a response; never the object. */
import { isNativeError } from 'node:util/types';
import { parsedJson } from '../providers/untrusted-json';
import { connectionCodesIn } from '../providers/failure/failure-codes';
import { stripHidden } from '../../workflows/core/secrets/hidden-characters';
import { withoutSecrets } from '../untrusted/known-secrets';
import { sanitizeText } from '../untrusted/sanitizer';

/** Levels of causes and of nested responses that are read. */
const deepest = 5;
/** Causes, or errors of a list, that are included. */
const mostErrors = 3;
/** Bytes of a response that are read. */
const answerBytes = 64 * 1024;
/** Characters of the end of stderr. */
const stderrChars = 300;
/** Characters in front of them that are sanitized with them. */
const marginChars = 4_096;

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' ? { ...value } : {};
}

/** Fields in which services put error messages, the most specific first. */
const wordFields = [
  'message',
  'error_description',
  'detail',
  'error',
  'errors',
  'msg',
  'reason',
  'title',
];

/** The text of a service's response; empty if none. */
function wordsIn(value: unknown, depth = 0): string {
  if (depth > deepest) return '';
  if (typeof value === 'string') {
    // Clean before it is taken apart: a name and its value are recognized side by side.
    const text = withoutSecrets(stripHidden(value.slice(0, answerBytes)));
    const json = /^\s*[{[]/.test(text) ? parsedJson(text) : undefined;
    return json === undefined
      ? sanitizeText(text.trim(), { maxChars: answerBytes })
      : wordsIn(json, depth + 1);
  }
  if (value instanceof Uint8Array)
    return wordsIn(Buffer.from(value.subarray(0, answerBytes)).toString('utf8'), depth + 1);
  if (Array.isArray(value)) return distinct(value.map((item) => wordsIn(item, depth + 1)));
  const fields = fieldsOf(value);
  for (const name of wordFields) {
    const words = wordsIn(fields[name], depth + 1);
    if (words !== '') return words;
  }
  return '';
}

function distinct(texts: readonly string[]): string {
  const unique = texts.filter((text, index) => text !== '' && texts.indexOf(text) === index);
  const more = unique.length > mostErrors ? [`and ${unique.length - mostErrors} more`] : [];
  return [...unique.slice(0, mostErrors), ...more].join('; ');
}

function statusOf(fields: Fields): number | undefined {
  return [fields['status'], fields['statusCode']].find((value) => typeof value === 'number');
}

/** The message of a service's response, as the common HTTP clients attach it to their errors. */
function answerOf(thrown: Fields): string {
  const response = fieldsOf(thrown['response']);
  const answers = [response['data'], response['body'], response['text'], thrown['data']];
  return [...answers, thrown['body']].map((answer) => wordsIn(answer)).find(Boolean) ?? '';
}

function causesOf(thrown: Error): readonly unknown[] {
  const errors: unknown =
    thrown.name === 'AggregateError' && 'errors' in thrown ? thrown.errors : [];
  const { cause } = thrown;
  const listed: readonly unknown[] = Array.isArray(errors) ? errors : [];
  return [...listed.slice(0, mostErrors), ...(cause === undefined ? [] : [cause])];
}

/** The end of a text, sanitized before it is cut. */
function endOf(text: string): string {
  const maxChars = stderrChars + marginChars;
  const end = sanitizeText(text.slice(-maxChars), { maxChars });
  return end.length <= stderrChars ? end : `…${end.slice(-stderrChars)}`;
}

/** Whether it is an error, also of another realm: a thread's, a test runner's, or Node's own. */
export function isError(value: unknown): value is Error {
  return isNativeError(value) || value instanceof Error;
}

function textOf(thrown: unknown, depth: number): string {
  if (!isError(thrown)) {
    const words = wordsIn(thrown);
    return words === '' && typeof thrown === 'object' ? 'an object without a message' : words;
  }
  const fields = fieldsOf(thrown);
  const parts = [thrown.message === '' ? thrown.name : thrown.message];
  const add = (text: string): void => {
    if (text !== '' && !parts.join(': ').includes(text)) parts.push(text);
  };
  const status = statusOf(fields) ?? statusOf(fieldsOf(fields['response']));
  if (status !== undefined && !parts.join().includes(String(status))) add(`status ${status}`);
  add(answerOf(fields));
  const { code } = fields;
  if (typeof code === 'string') add(connectionCodesIn(code).join());
  const { stderr } = fields;
  if (typeof stderr === 'string') add(endOf(stderr.trim()));
  if (depth < deepest) for (const cause of causesOf(thrown)) add(textOf(cause, depth + 1));
  return parts.join(': ');
}

/**
 * Name, message, status, text of the response, and causes of an error that a tool threw.
 *
 * Contract: never throws; ignores headers, requests, and configs; the caller sanitizes and bounds the text.
 * Source: case surface-01, and what other clients throw (got, undici, ofetch, superagent, problem details).
 */
export function describeThrown(thrown: unknown): string {
  try {
    return textOf(thrown, 0);
  } catch {
    return 'an error that cannot be read';
  }
}
