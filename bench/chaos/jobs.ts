/** What the runs of one seed have to do: each uses another part of Holdfast, all of them the same bank. */
import { randomOf } from '../random';
import type { PlannedTool } from '../scorecard/effects/kill-plan';
import { toolName } from '../scorecard/effects/bank-tools';

/** Which part of Holdfast a run uses; it is the name of its agent, too. */
const jobKinds = ['payer', 'clerk', 'asker', 'lead', 'desk', 'reader', 'quoter'] as const;

/** One kind of job. */
type JobKind = (typeof jobKinds)[number];

/** One call that the model is to make. */
export interface JobCall {
  /** Names its effect at the bank. */
  readonly callId: string;
  /** Name of the tool. */
  readonly tool: string;
  readonly isRead: boolean;
}

/** What one run has to do. */
export interface Job {
  readonly id: string;
  readonly kind: JobKind;
  /** Milliseconds after the start of the chaos at which its run is started. */
  readonly atMs: number;
  readonly calls: readonly JobCall[];
}

/** The tool that needs an approval. */
export const approvedTool = 'approved_pay';
/** The tool with long results. */
export const pageTool = 'page';

const effects: readonly PlannedTool[] = ['keyed', 'irreversible', 'reconcilable', 'ask', 'read'];

function toolOf(kind: JobKind, random: () => number): string {
  if (kind === 'reader') return pageTool;
  if (kind === 'clerk') return random() < 0.3 ? approvedTool : toolName('keyed');
  return toolName(effects[Math.floor(random() * effects.length)] ?? 'keyed');
}

/** Fewest and most calls of a job. */
const callsOf: Readonly<Record<JobKind, readonly [number, number]>> = {
  payer: [15, 40],
  clerk: [4, 10],
  asker: [4, 10],
  lead: [4, 8],
  desk: [6, 15],
  reader: [20, 35],
  quoter: [4, 10],
};

/**
 * The jobs of a seed.
 *
 * Contract: the same arguments give the same jobs. Their runs start within the first three quarters of the time, a quarter of them at
 * once.
 */
export function planJobs(seed: number, minutes: number, count: number): readonly Job[] {
  const random = randomOf(seed + 7_919);
  return Array.from({ length: count }, (_, index) => {
    const kind = jobKinds[index % jobKinds.length] ?? 'payer';
    const [least, most] = callsOf[kind];
    const id = `s${seed}n${index}`;
    const length = least + Math.floor(random() * (most - least + 1));
    const calls = Array.from({ length }, (_, place): JobCall => {
      const tool = toolOf(kind, random);
      const isRead = tool === pageTool || tool === toolName('read');
      return { callId: `${id}-${place}`, tool, isRead };
    });
    const atMs = index < count / 4 ? 0 : Math.round(random() * minutes * 45_000);
    return { id, kind, atMs, calls };
  });
}

/** The goal by which the emulated model knows the job, in every request of its run. */
export function goalOf({ id }: Job): string {
  return `Do the job JOB#${id}# to its end.`;
}

/** Id of the job that a text is about. */
export function jobIn(text: string): string | undefined {
  return /JOB#(\w+)#/.exec(text)?.[1];
}
