/** The vendor emulator: a real HTTP server on loopback that plays Anthropic and OpenAI, scripted per test. */
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Usage } from '../../workflows/core/budget/spend';
import { Bill, PromptCache, countTokens, promptTokens } from './billing';
import type { Action, DeliveryReport } from './delivery';
import { deliver } from './delivery';
import type { PlanContext } from './faults';
import { planError, planFault, planReply } from './faults';
import type { ParsedBody, Route } from './http-intake';
import { nearestWire, parseBody, pathOf, readBody, redactedHeaders, routeOf } from './http-intake';
import { RecordedRequest, RequestLog } from './recorded-request';
import type { PriceList } from './price-list';
import type { ReplyStep, Step, VendorError } from './step';
import type { ScriptRule } from './script-queue';
import { ScriptQueue } from './script-queue';
import { Seal } from './seal';
import type { PromptBlock, ReplyContext, WireName } from './wire';
import { producedText } from './wire';

/** Counts tokens as a vendor does. */
export interface TokenCounting {
  /** The prompt with a count on each block. */
  prompt(wire: WireName, model: string, blocks: readonly PromptBlock[]): readonly PromptBlock[];
  textTokens(wire: WireName, model: string, text: string): number;
}

/** How an emulator behaves. */
export interface EmulatorOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Models that exist; default all. */
  readonly models?: readonly string[];
  /** Context window per model, in tokens; default none. */
  readonly windows?: Readonly<Record<string, number>>;
  /** Keys that are accepted; default any. */
  readonly apiKeys?: readonly string[];
  /** Default true: requests are checked as strictly as the vendors do. */
  readonly validate?: boolean;
  /** How tokens are counted. Default: by the table o200k on every wire. */
  readonly counting?: TokenCounting;
  /** Shortest prompt prefix that Anthropic's cache takes, in tokens; default 0 (real: 1,024 and more, by model). */
  readonly cacheMinimumTokens?: number;
  /** The newest requests keep their bodies up to this many bytes together, the last one always; default 64 MB. */
  readonly recordedBodyBytes?: number;
  /** At most this many of the newest requests keep their bodies; default no limit. */
  readonly recordedBodies?: number;
  /** Makes ids repeatable; default random. */
  readonly seed?: string;
  /** Whose seal reasoning carries: an emulator accepts reasoning of emulators with the same name. Default `emulator`. */
  readonly vendor?: string;
  /** What models cost; default the vendors' public prices of the models that tests use. */
  readonly prices?: PriceList;
  /** Largest body in bytes; default 32 MB (Anthropic's limit). */
  readonly maxBodyBytes?: number;
}

interface Waiter {
  readonly isMet: () => boolean;
  readonly resolve: () => void;
}

/** The emulator. Start one per test or suite; stop it at the end. */
export class VendorEmulator {
  /** What every model has cost so far. */
  readonly bill: Bill;
  readonly #options: EmulatorOptions;
  readonly #server: Server;
  readonly #log: RequestLog;
  readonly #scripts = new ScriptQueue();
  readonly #cache: PromptCache;
  readonly #seed: string;
  readonly #waiters = new Set<Waiter>();
  #ids = 0;
  readonly #strays: string[] = [];

  private constructor(options: EmulatorOptions) {
    this.#options = options;
    this.bill = new Bill(options.prices);
    this.#log = new RequestLog(options.recordedBodyBytes, options.recordedBodies);
    this.#seed = options.seed ?? randomUUID();
    this.#cache = new PromptCache(options.cacheMinimumTokens ?? 0);
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) => {
        this.#strays.push(`the emulator itself failed: ${String(error)}`);
        response.destroy();
      });
    });
  }

  /** Starts an emulator on loopback. */
  static async start(options: EmulatorOptions = {}): Promise<VendorEmulator> {
    const emulator = new VendorEmulator(options);
    emulator.#server.listen(options.port ?? 0, '127.0.0.1');
    await once(emulator.#server, 'listening');
    return emulator;
  }

  /** Ends every connection, also those that stall, and frees the port. */
  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  /** Port on loopback. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** `http://127.0.0.1:PORT`: the base URL for Anthropic's SDK. */
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Base URL for an API's SDK; `mount` distinguishes vendors that share an API. */
  baseUrl(wire: RecordedRequest['wire'], mount?: string): string {
    const root = mount === undefined ? this.url : `${this.url}/${mount}`;
    return wire === 'anthropic' ? root : `${root}/v1`;
  }

  /**
   * Plans what comes next: steps in order of arrival, or a rule that gives the step for each request.
   *
   * Contract: the most specific key that matches a request (model, wire, mount) decides alone; calls with the same key append.
   */
  script(
    script: readonly Step[] | ScriptRule,
    key: Partial<Pick<RecordedRequest, 'model' | 'wire' | 'mount'>> = {},
  ): void {
    this.#scripts.add(script, key);
  }

  /** Forgets all scripts; requests and bill stay. */
  clearScripts(): void {
    this.#scripts.clear();
  }

  /** Every request so far, in order of arrival. */
  get requests(): readonly RecordedRequest[] {
    return this.#log.requests;
  }

  /** Requests that the vendor would have refused as malformed, with its words. */
  get refusals(): readonly { readonly request: RecordedRequest; readonly error: VendorError }[] {
    return this.#log.requests.flatMap((request) =>
      request.answer.type === 'refused' ? [{ request, error: request.answer.error }] : [],
    );
  }

  /** Requests for which no step was left. */
  get unplanned(): readonly RecordedRequest[] {
    return this.#log.requests.filter((request) => request.answer.type === 'unplanned');
  }

  /** Fails unless every step was asked for and every request had a step. Errors: names each leftover and each surplus. */
  assertDrained(): void {
    const problems = [
      ...this.#scripts.leftover,
      ...this.unplanned.map(
        (request) => `unplanned request ${request.index} (${request.path}, ${request.model})`,
      ),
      ...this.#strays,
    ];
    if (problems.length > 0) throw new Error(`The emulator is not drained: ${problems.join('; ')}`);
  }

  /** Resolves when the condition holds; checked at every arrival and at every progress of an answer. */
  async waitFor(isMet: (emulator: VendorEmulator) => boolean): Promise<void> {
    if (isMet(this)) return;
    await new Promise<void>((resolve) => {
      this.#waiters.add({ isMet: () => isMet(this), resolve });
    });
  }

  /** Resolves with the request of that index as soon as it has arrived. */
  async waitForRequest(index: number): Promise<RecordedRequest> {
    await this.waitFor((emulator) => emulator.requests.length > index);
    const request = this.#log.requests[index];
    if (request === undefined) throw new Error(`Request ${index} has not arrived.`);
    return request;
  }

  #notify(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.isMet()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  #newId(prefix: string): string {
    this.#ids += 1;
    const digest = createHash('sha256').update(`${this.#seed}:${this.#ids}`).digest('hex');
    return `${prefix}${prefix === 'req_' ? '' : '01'}${digest.slice(0, 24)}`;
  }

  #seal(wire: WireName, mount: string): Seal {
    return new Seal(`${this.#options.vendor ?? 'emulator'}/${wire}/${mount}`);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const route = routeOf(request);
    const text = await readBody(request, this.#options.maxBodyBytes ?? 32 * 1024 * 1024);
    if (route === undefined) return this.#refuseStray(request, response);
    const parsed = parseBody(text);
    const recorded = new RecordedRequest({
      index: this.#log.requests.length,
      atMs: Date.now(),
      wire: route.wire,
      mount: route.mount,
      path: pathOf(request),
      headers: redactedHeaders(request.headers),
      body: parsed.body,
      bodyBytes: text?.length ?? 0,
    });
    this.#log.add(recorded);
    this.#notify();
    const refusal =
      this.#refuseKey(route, request) ?? refuseText(route, parsed) ?? this.#refuse(route, recorded);
    return refusal === undefined
      ? this.#answer(route, recorded, response)
      : this.#refuseWith(route, recorded, response, refusal);
  }

  #refuseKey(route: Route, request: IncomingMessage): VendorError | undefined {
    const missing = route.wire.refuseHeaders(redactedHeaders(request.headers));
    if (missing !== undefined || this.#options.apiKeys === undefined) return missing;
    const key = request.headers['x-api-key'] ?? request.headers.authorization ?? '';
    const bare = String(key).replace(/^Bearer /, '');
    return this.#options.apiKeys.includes(bare) ? undefined : { status: 401 };
  }

  #refuse(route: Route, request: RecordedRequest): VendorError | undefined {
    if (this.#options.models?.includes(request.model) === false) {
      return route.wire.unknownModel(request.model);
    }
    if (this.#options.validate !== false) {
      const seal = this.#seal(request.wire, request.mount);
      const invalid = route.wire.refuseBody(request.body, {
        counts: route.counts,
        headers: request.headers,
        isSigned: (text, signature) => seal.isSigned(text, signature),
        isSealed: (content, subject) => seal.isSealed(content, subject),
      });
      if (invalid !== undefined) return invalid;
    }
    const windowTokens = this.#options.windows?.[request.model];
    if (windowTokens === undefined || route.counts) return undefined;
    const tokens = promptTokens(this.#prompt(route, request));
    return route.wire.refuseOverflow(tokens, request.body, windowTokens);
  }

  #prompt({ wire }: Route, { body, model }: RecordedRequest): readonly PromptBlock[] {
    const blocks = wire.promptBlocks(body);
    return this.#options.counting?.prompt(wire.name, model, blocks) ?? blocks;
  }

  #count(request: RecordedRequest | undefined, text: string): number {
    const { counting } = this.#options;
    return request === undefined || counting === undefined
      ? countTokens(text)
      : counting.textTokens(request.wire, request.model, text);
  }

  async #refuseStray(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const address = `${request.method ?? ''} ${pathOf(request)}`;
    this.#strays.push(`request to an unknown address: ${address}`);
    const wire = nearestWire(request.headers);
    const context = this.#planContext({ wire, counts: false, mount: '' }, undefined, undefined);
    const message = wire.name === 'anthropic' ? 'Not Found' : `Invalid URL (${address})`;
    await deliver(response, planError(context, { status: 404, message }), () => undefined);
  }

  async #refuseWith(
    route: Route,
    request: RecordedRequest,
    response: ServerResponse,
    error: VendorError,
  ): Promise<void> {
    request.answer = { type: 'refused', error };
    const context = this.#planContext(route, request, undefined);
    await this.#send(request, response, planError(context, error));
  }

  async #answer(route: Route, request: RecordedRequest, response: ServerResponse): Promise<void> {
    if (route.counts) {
      await this.#answerCount(route, request, response);
      return;
    }
    const step = await this.#scripts.next(request);
    if (step === undefined) {
      request.answer = { type: 'unplanned' };
      const context = this.#planContext(route, request, undefined);
      const message = `The emulator has no step for this request (index ${request.index}).`;
      await this.#send(request, response, planError(context, { status: 500, message }));
      return;
    }
    request.answer = { type: 'step', step };
    const works = step.type === 'reply' || step.type === 'stream-fault';
    const input = works
      ? this.#cache.price(route.wire.name, request.model, this.#prompt(route, request))
      : undefined;
    const context = this.#planContext(route, request, input);
    const actions = step.type === 'reply' ? planReply(context, step) : planFault(context, step);
    const report = await this.#send(request, response, actions);
    if (input !== undefined) this.#charge(request, step, input, report);
  }

  async #answerCount(
    route: Route,
    request: RecordedRequest,
    response: ServerResponse,
  ): Promise<void> {
    const tokens = promptTokens(this.#prompt(route, request));
    request.answer = { type: 'count', tokens };
    const context = this.#planContext(route, request, undefined);
    await this.#send(request, response, [
      {
        type: 'head',
        status: 200,
        headers: { ...route.wire.headers(context.requestId), 'content-type': 'application/json' },
      },
      { type: 'write', bytes: Buffer.from(JSON.stringify({ input_tokens: tokens })) },
      { type: 'end', how: 'eof' },
    ]);
  }

  #charge(request: RecordedRequest, step: Step, input: Usage, report: DeliveryReport): void {
    const isWhole = step.type === 'reply' && report.complete;
    const usage: Usage = {
      ...input,
      outputTokens: this.#count(request, report.produced),
      ...(isWhole ? step.usage : {}),
    };
    this.bill.charge(request.model, usage);
    request.progress = { ...request.progress, usage };
    this.#notify();
  }

  async #send(
    request: RecordedRequest,
    response: ServerResponse,
    actions: readonly Action[],
  ): Promise<DeliveryReport> {
    const note = (report: DeliveryReport, finished: boolean): void => {
      request.progress = {
        ...(response.headersSent ? { status: response.statusCode } : {}),
        eventsSent: report.eventsSent,
        landed: report.landed,
        finished,
        abandoned: finished && !report.complete,
      };
      this.#notify();
    };
    const report = await deliver(response, actions, (each) => {
      note(each, false);
    });
    note(report, true);
    return report;
  }

  #planContext(
    route: Route,
    request: RecordedRequest | undefined,
    input: Usage | undefined,
  ): PlanContext {
    return {
      wire: route.wire,
      requestId: this.#newId('req_'),
      stream: request?.stream ?? false,
      replyContext: (reply: ReplyStep): ReplyContext => ({
        model: reply.model ?? request?.model ?? '',
        usage: {
          inputTokens: 0,
          cacheReadTokens: 0,
          cacheWriteTokens: 0,
          ...input,
          outputTokens: this.#count(request, producedText(reply)),
          ...reply.usage,
        },
        body: request?.body ?? {},
        createdAtMs: request?.atMs ?? 0,
        newId: (prefix) => this.#newId(prefix),
        seal: this.#seal(route.wire.name, route.mount),
      }),
    };
  }
}

function refuseText(route: Route, { problem }: ParsedBody): VendorError | undefined {
  if (problem === undefined) return undefined;
  return problem === 'too-large' ? { status: 413 } : route.wire.refuseText(problem);
}
