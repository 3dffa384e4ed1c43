/** Gathers what a thrown value and the response behind it reveal about a failure, most trusted first. */
import { InfraException } from '../../lifecycle/infra-exception';
import type { HeaderReader } from './retry-after';
import { asList, asNumber, asText, isRecord, parsedJson, property } from '../untrusted-json';

/** What the adapter itself observed of the response; the SDKs keep only part of it. */
export interface SeenAnswer {
  readonly status?: number;
  readonly headers?: Headers;
  /** Head of the body as text. */
  readonly bodyText?: string;
}

/** One vendor error object, however deep it was wrapped. */
export interface VendorErrorBody {
  /** `type`, `code`, `status` and `reason` values, lower-cased. */
  readonly codes: readonly string[];
  readonly message: string;
  readonly raw: unknown;
}

/** What is known about one failure. */
export interface ErrorEvidence {
  readonly status: number | undefined;
  readonly header: HeaderReader;
  /** Innermost first: a gateway's wrapper says less than what it wraps. */
  readonly bodies: readonly VendorErrorBody[];
  /** Codes, names and messages of the thrown value and its causes, outermost first. */
  readonly chain: readonly ChainLink[];
  /** The body was a web page. */
  readonly isHtml: boolean;
  /** Its title, or an empty text. */
  readonly pageTitle: string;
  /** A proxy refused the request; the vendor never saw it. */
  readonly isFromProxy: boolean;
  /** A failure that was classified before. */
  readonly known: InfraException | undefined;
}

/** One link of a cause chain. */
interface ChainLink {
  readonly name: string;
  readonly code: string;
  /** The call of the operating system that failed, such as `connect`. */
  readonly syscall: string;
  readonly message: string;
}

/** Links of a cause chain that are read (R-FAIL-2). */
const chainDepth = 5;

/** Levels of wrapping in a body that are opened. */
const wrapperDepth = 6;

/** Gathers the evidence. Contract: pure; never throws, for any thrown value. */
export function gatherEvidence(thrown: unknown, seen: SeenAnswer = {}): ErrorEvidence {
  const links = causeChain(thrown);
  const bodies = [
    ...errorBodies(bodyValue(seen.bodyText)),
    ...links.flatMap((link) => [
      ...errorBodies(property(link, 'error')),
      ...errorBodies(property(link, 'body')),
      ...errorBodies(embeddedJson(asText(property(link, 'message')))),
    ]),
  ];
  const chain = links.map(chainLink);
  const header = headerReader(links, seen.headers);
  const proxyStatus = statusFromProxy(chain);
  const status =
    seen.status ??
    proxyStatus ??
    links.map((link) => asNumber(property(link, 'status'))).find((value) => value !== undefined);
  const page = webPage(seen.bodyText, links);
  return {
    status: status === 200 ? innerStatus(bodies) : (status ?? innerStatus(bodies)),
    header,
    bodies,
    chain,
    isHtml: page !== undefined,
    pageTitle: /<title[^>]{0,100}>([^<]{1,200})/i.exec(page ?? '')?.[1] ?? '',
    isFromProxy: proxyStatus !== undefined || isProxyLogin(status, header, bodies),
    known: links.find((link): link is InfraException => link instanceof InfraException),
  };
}

function causeChain(thrown: unknown): readonly unknown[] {
  const links: unknown[] = [];
  let link = thrown;
  while (link !== undefined && link !== null && links.length < chainDepth) {
    if (links.includes(link)) break;
    links.push(link);
    link = property(link, 'cause') ?? asList(property(link, 'errors'))[0];
  }
  return links;
}

/**
 * The status with which a proxy refused. Node gives a tunnel's in the message. For a 407 instead of a response, fetch throws a
 * network error without any message, the only one that our requests can cause (fetch standard, HTTP-network-or-cache fetch).
 */
function statusFromProxy(chain: readonly ChainLink[]): number | undefined {
  const stated = chain
    .map(({ message }) => /Proxy response \((4\d\d)\)/.exec(message)?.[1])
    .find(Boolean);
  if (stated !== undefined) return Number(stated);
  const isWordless = chain.some(({ name, message }, index) => {
    const cause = chain[index + 1];
    const isFetch = name === 'TypeError' && message === 'fetch failed';
    return isFetch && cause?.name === 'Error' && cause.message === '' && cause.code === '';
  });
  return isWordless ? 407 : undefined;
}

function chainLink(link: unknown): ChainLink {
  return {
    name: asText(property(link, 'name')),
    code: asText(property(link, 'code')),
    syscall: asText(property(link, 'syscall')),
    message: typeof link === 'string' ? link : asText(property(link, 'message')),
  };
}

function headerReader(links: readonly unknown[], headers: Headers | undefined): HeaderReader {
  const sources = [headers, ...links.map((link) => property(link, 'headers'))];
  return (name) => {
    for (const source of sources) {
      const value = source instanceof Headers ? source.get(name) : property(source, name);
      if (typeof value === 'string') return value;
    }
    return undefined;
  };
}

function webPage(bodyText: string | undefined, links: readonly unknown[]): string | undefined {
  const texts = [bodyText ?? '', ...links.map((link) => asText(property(link, 'message')))];
  return texts.find((text) => /<!doctype html|<html[\s>]|<head>|<title>/i.test(text));
}

/** A login that no vendor asks for: a proxy's, also if it answers as if it were the vendor. Vendors take keys and bearer tokens. */
function isProxyLogin(
  status: number | undefined,
  header: HeaderReader,
  bodies: readonly VendorErrorBody[],
): boolean {
  if (status === 407) return true;
  if (status !== 401 && status !== 403) return false;
  const asksLogin = /^\s*(?:basic|digest|negotiate|ntlm|kerberos)\b/i;
  return (
    header('proxy-authenticate') !== undefined ||
    (bodies.length === 0 && asksLogin.test(header('www-authenticate') ?? ''))
  );
}

function bodyValue(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  const value = parsedJson(text) ?? embeddedJson(text);
  // xAI: the body is one JSON string.
  return typeof value === 'string' ? { message: value } : value;
}

/** JSON that begins somewhere in a text: after a status, a gateway's text, or `data: `. */
function embeddedJson(text: string): unknown {
  const start = text.search(/[[{]\s*["{]/);
  if (start < 0) return undefined;
  const tail = text.slice(start);
  const whole = parsedJson(tail);
  if (whole !== undefined) return whole;
  const end = Math.max(tail.lastIndexOf('}'), tail.lastIndexOf(']'));
  return end < 0 ? undefined : parsedJson(tail.slice(0, end + 1));
}

/** All error objects within a value, innermost first. */
function errorBodies(value: unknown, depth = 0): readonly VendorErrorBody[] {
  if (depth > wrapperDepth || value === undefined || value === null) return [];
  if (typeof value === 'string') return textBodies(value, depth);
  if (Array.isArray(value)) return asList(value).flatMap((entry) => errorBodies(entry, depth + 1));
  if (!isRecord(value)) return [];
  const inner = [
    value['error'],
    property(value['metadata'], 'raw'),
    property(value['response'], 'error'),
    property(property(value['metadata'], 'provider_error'), 'error'),
    jsonWithin(value['message']),
    jsonWithin(value['detail']),
  ].flatMap((entry) => errorBodies(entry, depth + 1));
  const own = ownBody(value);
  return own === undefined ? inner : [...inner, own];
}

function textBodies(text: string, depth: number): readonly VendorErrorBody[] {
  const json = embeddedJson(text);
  if (json !== undefined) return errorBodies(json, depth + 1);
  return depth > 0 && text.trim() !== '' ? [{ codes: [], message: text, raw: text }] : [];
}

function jsonWithin(value: unknown): unknown {
  return typeof value === 'string' ? embeddedJson(value) : value;
}

function ownBody(value: Readonly<Record<string, unknown>>): VendorErrorBody | undefined {
  const details = asList(value['details']).flatMap((detail) => [
    property(detail, 'reason'),
    ...asList(property(detail, 'violations')).map((violation) => property(violation, 'quotaId')),
  ]);
  const codes = [
    value['type'],
    value['code'],
    value['status'],
    value['reason'],
    property(value['innererror'], 'code'),
    property(value['details'], 'error_code'),
    ...asList(value['errors']).map((entry) => property(entry, 'reason')),
    ...details,
  ]
    .map((code) => (typeof code === 'number' ? String(code) : asText(code).toLowerCase()))
    .filter((code) => code !== '' && code !== 'error');
  const message = asText(value['message']) || asText(value['detail']) || asText(value['msg']);
  return codes.length === 0 && message === '' ? undefined : { codes, message, raw: value };
}

/** An HTTP status inside a body (OpenRouter and Gemini repeat it as `code`). */
function innerStatus(bodies: readonly VendorErrorBody[]): number | undefined {
  for (const body of bodies) {
    for (const code of body.codes) {
      const status = Number(code);
      if (Number.isInteger(status) && status >= 400 && status <= 599) return status;
    }
  }
  return undefined;
}
