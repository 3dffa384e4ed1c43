/** The vendor emulator: a real HTTP server on loopback that plays Anthropic and OpenAI, scripted per test. */
import { createHash, randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { UserError } from '../../activities/lifecycle/user-error';
import type { Usage } from '../../workflows/core/budget/spend';
import { noUsage } from '../../workflows/core/budget/spend';
import { defined } from '../../workflows/core/json';
import { checkEmulatorOptions, describeStep, nameStep } from './check-script';
import { Bill, PromptCache, countTokens, promptTokens } from './billing';
import type { Action } from './delivery';
import { deliver } from './delivery';
import type { PlanContext, Step } from './faults';
import { planError, planReply } from './faults';
import type { ParsedBody, Route } from './http-intake';
import { parseBody, pathOf, readBody, redactedHeaders, routeOf } from './http-intake';
import { RecordedRequest, RequestLog, unplannedProblem } from './recorded-request';
import type { ChatServerName, ReplyStep, VendorError } from './step';
import type { ScriptRule } from './script-queue';
import { describeNews, ScriptQueue } from './script-queue';
import { Seal } from './seal';
import type { ReplyContext } from './wire';
import { producedText } from './wire';

/** How an emulator behaves. */
export interface EmulatorOptions {
  /** Context window per model, in tokens; default none. */
  readonly windows?: Readonly<Record<string, number>>;
  /** The newest requests keep their bodies up to this many bytes together, the last one always; default 64 MB. */
  readonly recordedBodyBytes?: number;
  /** Makes ids repeatable; default random. */
  readonly seed?: string;
  /**
   * What is billed for a reply that reached its client only in part: what was sent (default), or the whole reply, as by a vendor
   * that goes on generating after its client is gone.
   */
  readonly cutReplies?: 'sent' | 'whole';
  /** Servers of the Chat Completions wire that are played as strictly as they are, by mount; default OpenAI's own. */
  readonly servers?: Readonly<Record<string, ChatServerName>>;
  /** Whose seal reasoning carries: an emulator accepts reasoning of emulators with the same name. Default `emulator`. */
  readonly vendor?: string;
}

/** The emulator. Start one per test or suite; stop it at the end. */
export class VendorEmulator {
  /** What every model has cost so far. */
  readonly bill = new Bill();
  readonly #options: EmulatorOptions;
  readonly #server: Server;
  readonly #log: RequestLog;
  readonly #scripts = new ScriptQueue();
  readonly #cache = new PromptCache();
  readonly #seed: string;
  readonly #changes = new EventEmitter().setMaxListeners(0);
  #ids = 0;
  readonly #strays: string[] = [];

  private constructor(options: EmulatorOptions) {
    this.#options = options;
    this.#log = new RequestLog(options.recordedBodyBytes ?? 64 * 1024 * 1024);
    this.#seed = options.seed ?? randomUUID();
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) => {
        this.#strays.push(`the emulator itself failed: ${String(error)}`);
        response.destroy();
      });
    });
  }

  /** Starts an emulator on any free port of loopback. Errors: `UserError` for unknown or unfit options. */
  static async start(options: EmulatorOptions = {}): Promise<VendorEmulator> {
    checkEmulatorOptions(options);
    const emulator = new VendorEmulator(options);
    emulator.#server.listen(0, '127.0.0.1');
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

  /** `http://127.0.0.1:PORT`: the base URL for Anthropic's SDK. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
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

  /** Fails unless every step was asked for and every request had a step. Errors: names each leftover and each surplus. */
  assertDrained(): void {
    const problems = [
      ...this.#scripts.leftover,
      ...this.requests.flatMap((request) => unplannedProblem(request, 0) ?? []),
      ...this.#strays,
    ];
    if (problems.length > 0) throw new Error(`The emulator is not drained: ${problems.join('; ')}`);
  }

  /** Resolves when the condition holds; checked at every arrival and at every progress of an answer. */
  async waitFor(isMet: (emulator: VendorEmulator) => boolean): Promise<void> {
    while (!isMet(this)) await once(this.#changes, 'change');
  }

  /** Resolves with the request of that index as soon as it has arrived. */
  async waitForRequest(index: number): Promise<RecordedRequest> {
    await this.waitFor((emulator) => emulator.requests.length > index);
    return this.#log.requests[index] as RecordedRequest;
  }

  #newId(prefix: string): string {
    this.#ids += 1;
    const digest = createHash('sha256').update(`${this.#seed}:${this.#ids}`).digest('hex');
    return `${prefix}${prefix === 'req_' ? '' : '01'}${digest.slice(0, 24)}`;
  }

  #seal({ wire, mount }: Route): Seal {
    return new Seal(`${this.#options.vendor ?? 'emulator'}/${wire.name}/${mount}`);
  }

  #played({ mount }: Route): { readonly server?: ChatServerName } {
    return defined({ server: this.#options.servers?.[mount] });
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const route = routeOf(request);
    const text = await readBody(request);
    if (route === undefined) {
      const address = `${request.method ?? ''} ${pathOf(request)}`;
      this.#strays.push(`request to an unknown address: ${address}`);
      response.writeHead(404).end(`Invalid URL (${address})`);
      return;
    }
    const parsed = parseBody(text);
    const recorded = new RecordedRequest(
      this.#log.requests.length,
      Date.now(),
      route.wire,
      route.mount,
      pathOf(request),
      redactedHeaders(request.headers),
      parsed.body,
      text?.length ?? 0,
    );
    this.#log.add(recorded);
    this.#changes.emit('change');
    const error =
      route.wire.refuseHeaders(recorded.headers) ??
      refuseText(route, parsed) ??
      this.#refuse(route, recorded);
    if (error === undefined) return this.#answer(route, recorded, response);
    recorded.answer = { type: 'refused', error };
    await this.#send(recorded, response, planError(this.#planContext(route, recorded), error));
  }

  #refuse(route: Route, request: RecordedRequest): VendorError | undefined {
    const { headers, body } = request;
    const scope = { headers, seal: this.#seal(route), ...this.#played(route) };
    const invalid = route.wire.refuseBody(body, scope);
    if (invalid !== undefined) return invalid;
    if (body['stream'] !== true)
      return { status: 400, message: 'The emulator only streams: send `"stream": true`.' };
    const windowTokens = this.#options.windows?.[request.model];
    if (windowTokens === undefined) return undefined;
    const tokens = promptTokens(route.wire.promptBlocks(request.body));
    return route.wire.refuseOverflow(tokens, body, windowTokens);
  }

  async #answer(route: Route, request: RecordedRequest, response: ServerResponse): Promise<void> {
    const step = await this.#nextStep(request);
    if (typeof step === 'string') {
      // Nobody retries a 400.
      const error = { status: 400, message: step };
      await this.#send(request, response, planError(this.#planContext(route, request), error));
      return;
    }
    request.answer = { type: 'step', step };
    const isWorking = step.type === 'reply' || step.reply !== undefined;
    const input = isWorking
      ? this.#cache.price(route.wire.name, request.model, route.wire.promptBlocks(request.body))
      : noUsage;
    const context = this.#planContext(route, request, input);
    const actions = step.type === 'reply' ? planReply(context, step) : step.plan(context);
    const produced = await this.#send(request, response, actions);
    if (!isWorking) return;
    const isWhole = step.type === 'reply' && !request.progress.abandoned;
    const usage: Usage = {
      ...input,
      outputTokens:
        isWhole || this.#options.cutReplies === 'whole'
          ? replyTokens(step)
          : Math.max(reportedTokens(request, step), countTokens(produced)),
      ...(isWhole ? step.usage : {}),
    };
    this.bill.charge(request.model, usage);
    request.progress = { ...request.progress, usage };
    this.#changes.emit('change');
  }

  /** The step for a request, or what to answer instead, which quotes no text: a client reads the reason of a failure in its words. */
  async #nextStep(request: RecordedRequest): Promise<Step | string> {
    const remedy = `Add a step for it, such as reply.text('…') or reply.toolCalls([{ name, input }])`;
    try {
      const step = await this.#scripts.next(request);
      if (step !== undefined) return step;
    } catch (thrown) {
      const said =
        thrown instanceof UserError
          ? `but ${thrown.message}. ${remedy}`
          : `and the script's rule threw: ${String(thrown)}`;
      request.answer = { type: 'unplanned', problem: `${describeNews(request)}, ${said}` };
      return `The script has no step for request ${request.index + 1}; assertDrained() says why.`;
    }
    const words = describeNews(request);
    const why = this.#scripts.whyNone(request, describeStep);
    request.answer = { type: 'unplanned', problem: `${words}, but ${why}. ${remedy}` };
    return `The emulator has no step for request ${request.index + 1}: ${this.#scripts.whyNone(request, nameStep)}. ${remedy}.`;
  }

  #send(
    request: RecordedRequest,
    response: ServerResponse,
    actions: readonly Action[],
  ): Promise<string> {
    return deliver(response, actions, (progress) => {
      request.progress = progress;
      this.#changes.emit('change');
    });
  }

  #planContext(route: Route, request: RecordedRequest, input = noUsage): PlanContext {
    return {
      wire: route.wire,
      requestId: this.#newId('req_'),
      replyContext: (reply: ReplyStep): ReplyContext => ({
        model: reply.model ?? request.model,
        usage: {
          ...input,
          outputTokens: countTokens(producedText(reply)),
          ...reply.usage,
        },
        body: request.body,
        createdAtMs: request.atMs,
        newId: (prefix) => this.#newId(prefix),
        seal: this.#seal(route),
        ...this.#played(route),
      }),
    };
  }
}

/** Output tokens of the reply that a step makes, or breaks. */
function replyTokens(step: Step): number {
  const made = step.type === 'reply' ? step : step.reply;
  return made === undefined ? 0 : countTokens(producedText(made));
}

/** What an answer reports before there is anything: Anthropic's first event says that one token is used. */
function reportedTokens({ wire, progress }: RecordedRequest, step: Step): number {
  return wire === 'anthropic' && progress.eventsSent > 0 ? Math.min(1, replyTokens(step)) : 0;
}

function refuseText(route: Route, { problem }: ParsedBody): VendorError | undefined {
  if (problem === undefined) return undefined;
  return problem === 'too-large' ? { status: 413 } : route.wire.refuseText(problem);
}
