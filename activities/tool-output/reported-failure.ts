/** Whether an output reports that the call failed: it is then trusted as little as an error's message. */
import { parsedJson } from '../providers/untrusted-json';
import { isJsonObject } from '../tools/input-schema';

/** Characters of an output that are parsed as JSON, and of its beginning that are searched for words. */
const jsonChars = 200_000;
const headChars = 200;

/** Words of an error's message, as programs and services write them. */
const failureWords = new RegExp(
  `\\b(?:${[
    'errors?',
    'exception',
    'fail(?:ed|ure)',
    'fatal',
    'denied',
    'unauthori[sz]ed',
    'forbidden',
    'not (?:permitted|allowed|authori[sz]ed)',
    'insufficient \\w+',
    'HTTP/?[\\d.]* [45]\\d\\d',
  ].join('|')})\\b`,
  'i',
);
/** Values of a status field that say that the call failed. */
const failureStatus =
  /^(?:error|fail(?:ed|ure)?|denied|unauthori[sz]ed|forbidden|rejected|[45]\d\d)$/i;

function isSet(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null && value !== false && value !== '' && value !== 0;
}

function hasFailureField(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { error, errors, isError, is_error, success, ok, status, statusCode, code } = value;
  if ([error, errors, isError, is_error].some(isSet)) return true;
  if (success === false || ok === false) return true;
  return [status, statusCode, code].some(
    (each) =>
      (typeof each === 'string' || typeof each === 'number') && failureStatus.test(`${each}`),
  );
}

/**
 * Whether an output has the form of an error, in JSON or in the words of its beginning.
 *
 * Contract: never throws. In doubt it returns true: all that follows is that a person is asked about new rights (ADR 0022).
 * Source: R-SAFE-3, R-PEOPLE-7.
 */
export function reportsFailure(text: string): boolean {
  const isJson = text.length <= jsonChars && /^\s*\{/.test(text);
  const value = isJson ? parsedJson(text) : undefined;
  return value === undefined ? failureWords.test(text.slice(0, headChars)) : hasFailureField(value);
}
