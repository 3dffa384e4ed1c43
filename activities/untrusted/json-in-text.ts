/** Reads the JSON object of a model's answer that has words or a fence round it. */
import { isRecord } from '../providers/untrusted-json';

/** The object from the first brace of a text to its last; undefined where that is none. Never throws. */
export function objectInText(text: string): Readonly<Record<string, unknown>> | undefined {
  const from = text.indexOf('{');
  const to = text.lastIndexOf('}');
  if (from < 0 || to < from) return undefined;
  try {
    const value: unknown = JSON.parse(text.slice(from, to + 1));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
