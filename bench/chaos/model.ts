/** The emulated model: it does its job call by call, and remembers what it was told over compactions and vendors. */
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { Step } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import { randomOf } from '../random';
import type { Job, JobCall } from './jobs';
import { jobIn } from './jobs';

/** What the model knows of one job, from all of its requests. */
export interface JobMemory {
  readonly requests: RecordedRequest[];
  /** Results by call, as they were told first. */
  readonly results: Map<string, string>;
  /** Calls whose result was another one later, though nothing had compacted the conversation. */
  readonly changed: Set<string>;
  /** Ids under which the model made each call: two mean that a request forgot a result. */
  readonly asked: Map<string, number>;
}

/** What the model knows of all jobs. */
export type ModelMemory = ReadonlyMap<string, JobMemory>;

/** Calls of one reply at most. */
const widest = 3;
/** Share of the requests that the vendor fails by itself. */
const faultShare = 0.02;

/** Calls whose results a request shows. */
function resultsIn(request: RecordedRequest): readonly (readonly [string, string])[] {
  const calls = new Map(request.toolCalls.map(({ id, argumentsText }) => [id, argumentsText]));
  return request.toolResults.flatMap(({ id, content }) => {
    const callId = /"callId":"([\w-]+)"/.exec(calls.get(id) ?? '')?.[1];
    return callId === undefined ? [] : [[callId, content] as const];
  });
}

/** Calls of a tool that have a result. */
function hasResultOf(request: RecordedRequest, tool: string): number {
  const ids = new Set(request.toolCalls.filter(({ name }) => name === tool).map(({ id }) => id));
  return request.toolResults.filter(({ id }) => ids.has(id)).length;
}

function learn(memory: JobMemory, request: RecordedRequest, compacts: boolean): void {
  for (const [callId, content] of resultsIn(request)) {
    const known = memory.results.get(callId);
    if (known === undefined) memory.results.set(callId, content);
    else if (known !== content && !compacts) memory.changed.add(callId);
  }
}

function makeCalls(memory: JobMemory, calls: readonly JobCall[], random: () => number): Step {
  const width = random() < 0.3 ? widest : 1;
  const now = calls.slice(0, width);
  for (const { callId } of now) memory.asked.set(callId, (memory.asked.get(callId) ?? 0) + 1);
  return reply.toolCalls(
    now.map(({ tool, callId }) => ({ name: tool, input: { callId } })),
    { text: `Next: ${now.map(({ callId }) => callId).join(', ')}.` },
  );
}

/** The last words, in the form that the agent asks for. */
function finish(job: Job, request: RecordedRequest): Step {
  const answer = `done ${job.id}`;
  if (request.toolNames.includes('complete_task'))
    return reply.toolCalls([{ name: 'complete_task', input: { summary: answer } }]);
  if (job.kind === 'quoter')
    return reply.text(JSON.stringify({ job: job.id, calls: job.calls.length }));
  return reply.text(`${answer} ${'and it went as it was asked for, step by step. '.repeat(4)}`);
}

/** The half of the job that a helper is given. */
function halfOf({ calls }: Job, half: number): readonly JobCall[] {
  const middle = Math.ceil(calls.length / 2);
  return half === 0 ? calls.slice(0, middle) : calls.slice(middle);
}

/** What a job begins with: the parts of Holdfast that are not the bank's. Undefined once that is done. */
function opening(job: Job, memory: JobMemory, request: RecordedRequest): Step | undefined {
  const isTold = (tool: string): boolean => hasResultOf(request, tool) > 0;
  switch (job.kind) {
    case 'lead': {
      const tasks = [0, 1].map((half) => ({
        name: 'delegate',
        input: { task: `Do your half HALF#${half}# of JOB#${job.id}#.` },
      }));
      return isTold('delegate') ? finish(job, request) : reply.toolCalls(tasks);
    }
    case 'desk': {
      const input = { reason: 'It is to be paid.' };
      if (request.systemText.includes('You are the teller')) return undefined;
      return reply.toolCalls([{ name: 'transfer_to_teller', input }]);
    }
    case 'asker': {
      const input = { question: `May I do ${job.id}?` };
      if (isTold('ask_user') || memory.results.size > 0) return undefined;
      return reply.toolCalls([{ name: 'ask_user', input }]);
    }
    case 'payer':
    case 'clerk':
    case 'reader':
    case 'quoter':
      return undefined;
  }
}

function nextStep(
  job: Job,
  memory: JobMemory,
  request: RecordedRequest,
  random: () => number,
): Step {
  const half = /HALF#(\d)#/.exec(request.conversation.turns[0]?.text ?? '')?.[1];
  const mine = half === undefined ? job.calls : halfOf(job, Number(half));
  const open = mine.filter(({ callId }) => !memory.results.has(callId));
  const first = half === undefined ? opening(job, memory, request) : undefined;
  if (first !== undefined) return first;
  if (open.length > 0) return makeCalls(memory, open, random);
  return half === undefined ? finish(job, request) : reply.text(`half ${half} of ${job.id}`);
}

/** A summary that keeps what the model must know: which job it is. */
function summaryOf({ id, calls }: Job, { results }: JobMemory): Step {
  const facts = [`The job is JOB#${id}#.`, `${results.size} of ${calls.length} calls are done.`];
  return reply.text(JSON.stringify({ progress: `Works on JOB#${id}#.`, facts, decisions: [] }));
}

/** How long the vendor takes before its first byte, and between the pieces of its reply. */
function delivered(step: Step, random: () => number): Step {
  if (step.type !== 'reply') return step;
  const delivery = { headersAfterMs: Math.floor(20 + random() * 500), writeEveryMs: 15 };
  return { ...step, delivery };
}

/** The rule for the emulator, and what the model comes to know. */
export function makeModel(
  jobs: readonly Job[],
  seed: number,
): { readonly rule: (request: RecordedRequest) => Step; readonly memory: ModelMemory } {
  const random = randomOf(seed + 104_729);
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const memory = new Map<string, JobMemory>(
    jobs.map(({ id }) => [
      id,
      { requests: [], results: new Map(), changed: new Set(), asked: new Map() },
    ]),
  );
  const rule = (request: RecordedRequest): Step => {
    const id = jobIn(JSON.stringify(request.body)) ?? '';
    const [job, known] = [byId.get(id), memory.get(id)];
    if (job === undefined || known === undefined) return fault.http(400);
    known.requests.push(request);
    learn(known, request, job.kind === 'reader');
    if (random() < faultShare)
      return random() < 0.2 ? fault.http(529) : fault.cutStream({ afterCharacters: 5 });
    const isSummary = request.systemText.includes('You summarize the record of an agent');
    return delivered(
      isSummary ? summaryOf(job, known) : nextStep(job, known, request, random),
      random,
    );
  };
  return { rule, memory };
}
