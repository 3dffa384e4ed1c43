/** What the arms of the evaluation have in common: the same model, jobs, tools, words and limits; they differ in what a mistake leads to. */
import type { AgentDefinition } from '../../activities/definitions/agent';
import { openaiProvider } from '../../activities/providers/openai/openai-provider';
import type { Provider } from '../../activities/providers/provider';
import { defined } from '../../workflows/core/json';
import type { DrawnJob, JobFamily, World } from './job';

/** Model calls that a run may make, in every arm. */
export const maxIterations = 10;

/** Milliseconds that a run may take at work, in every arm. */
export const maxRunMs = 600_000;

/** Tokens of one reply. */
export const maxOutputTokens = 300;

/** Which model is asked, and how. */
export interface ModelUnderTest {
  /** Address of a server that speaks Chat Completions, with its `/v1`. */
  readonly baseUrl: string;
  readonly name: string;
  readonly apiKey?: string;
  readonly protocol: NonNullable<AgentDefinition['chain'][number]['toolProtocol']>;
  /** Tokens that prompt and reply may have together. */
  readonly windowTokens: number;
  /** 0 to 2. */
  readonly temperature: number;
}

/** The provider of that model, for every arm. */
export function providerOf({ baseUrl, apiKey }: ModelUnderTest): Provider {
  return openaiProvider({
    ...{ name: 'evaluate', api: 'chat', needsKey: false, baseUrl },
    ...defined({ apiKey }),
  });
}

/** What a run is about. */
export interface Task {
  readonly family: JobFamily;
  readonly drawn: DrawnJob;
  readonly world: World;
  /** Unique over the sitting; the tools find the world by it. */
  readonly runId: string;
  /** Sampling seed that the server gets. */
  readonly seed: number;
}

/** How a run went, as every arm tells it. */
export interface ArmRun {
  /** `completed`, or why not. */
  readonly status: string;
  readonly answer: string;
  /** For each model call, the codes of the mistakes that it made. */
  readonly turns: readonly (readonly string[])[];
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Plays one run to its end. */
export type Arm = (task: Task) => Promise<ArmRun>;
