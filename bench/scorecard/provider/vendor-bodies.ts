/** The bodies with which vendors refuse, and rows made of them. */
import type { FaultStep } from '../../../testing/emulator/script';
import { fault } from '../../../testing/emulator/script';
import type { WireName } from '../../../testing/emulator/wire';
import type { FailoverReason } from '../../../workflows/core/limits';
import type { JsonValue } from '../../../workflows/core/json';
import type { ProviderFault } from './provider-fault';

/** A wire, a status, what the body is about, and the body. */
export type Refusal = readonly [wire: WireName, status: number, about: string, body: JsonValue];

/** Anthropic's body. */
export function anthropic(type: string, message: string): JsonValue {
  return { type: 'error', error: { type, message }, request_id: 'req_011CScorecard' };
}

/** OpenAI's body, and that of the servers that copy it. */
export function openai(message: string, type: string, code: string | null): JsonValue {
  return { error: { message, type, param: null, code } };
}

/** Gemini's body on its Chat Completions endpoint. */
export function gemini(
  code: number,
  status: string,
  message: string,
  details: readonly JsonValue[] = [],
): JsonValue {
  return [{ error: { code, message, status, details: [...details] } }];
}

/** A gateway's web page. */
export function page(title: string): string {
  return `<!DOCTYPE html>\n<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;
}

/** The body as an answer; a string is a web page or a bare text. */
export function answered(status: number, body: JsonValue): FaultStep {
  return typeof body === 'string'
    ? fault.http(status, { bodyText: body })
    : fault.http(status, { body });
}

/** One row per refusal, of the kind that `build` makes. */
export function rowsOf<Code extends FailoverReason>(
  build: (id: string, wire: WireName, step: FaultStep, code: Code) => ProviderFault,
  code: Code,
  refusals: readonly Refusal[],
): readonly ProviderFault[] {
  return refusals.map(([wire, status, about, body]) =>
    build(`${status} ${about}`, wire, answered(status, body), code),
  );
}
