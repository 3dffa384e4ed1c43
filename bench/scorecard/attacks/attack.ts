/** An attack: what a hostile model, tool, server, vendor or caller tries, and how it shows that it got through. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AgentDefinition } from '../../../activities/definitions/agent';
import type { RunHandle } from '../../../client/index';
import type { RecordedRequest } from '../../../testing/emulator/recorded-request';
import type { Step } from '../../../testing/emulator/script';
import type { JsonObject } from '../../../workflows/core/json';
import type { RunOutcome } from '../../../workflows/core/run/outcome';
import type { PendingItem } from '../../../workflows/core/view/pending';
import type { ProviderWorld } from '../provider/provider-world';
import { requestProblems, textsIn } from '../sanitise/find-breaks';

/** What is attacked, or what attacks. */
type AttackArea =
  'commands' | 'files' | 'injection' | 'mcp' | 'messages' | 'replies' | 'secrets' | 'store';

/** A call that the hostile model makes. */
export interface HostileCall {
  readonly name: string;
  readonly input: JsonObject;
}

/** Where an attack takes place. */
export interface AttackGround {
  /** Of the attack's agent, provider and run. */
  readonly name: string;
  /** The run's workspace, empty at first. */
  readonly workspace: string;
  /** Outside the workspace: store, and files that are nobody's business. */
  readonly folder: string;
}

/** What came of it. */
export interface AttackTrace extends AttackGround {
  readonly world: ProviderWorld;
  readonly run: RunHandle;
  readonly outcome: RunOutcome;
  /** Bodies of all requests of its model, as JSON text. */
  readonly prompts: string;
  /** What tools gave, as the model read it. */
  readonly results: readonly string[];
  /** What a person was asked; each time the answer was no. */
  readonly asked: readonly PendingItem[];
}

interface AttackName {
  readonly area: AttackArea;
  readonly id: string;
  /** The mode: what it tries to do, by which way. */
  readonly tries: string;
}

/** An attack within a run, whose model is hostile or misled. */
export interface RunAttack extends AttackName {
  /** What the agent is, apart from name and chain. */
  readonly agent?: (
    ground: AttackGround,
  ) => Partial<AgentDefinition> | Promise<Partial<AgentDefinition>>;
  readonly prepare?: (ground: AttackGround) => void | Promise<void>;
  readonly goal?: string;
  /** What the model does first; it says "done" after that. */
  readonly calls?: (ground: AttackGround) => readonly HostileCall[];
  /** All that the model says, where `calls` is not enough. */
  readonly model?: (request: RecordedRequest) => Step;
  /** A hostile vendor: answers in place of the emulator. */
  readonly vendor?: (request: IncomingMessage, response: ServerResponse) => void;
  /** What others do while the run goes on. */
  readonly meanwhile?: (run: RunHandle, world: ProviderWorld) => Promise<void>;
  /** Ends what `prepare` started. */
  readonly cleanUp?: () => Promise<void> | void;
  /** What got through; undefined where nothing did. */
  readonly harm: (trace: AttackTrace) => string | undefined | Promise<string | undefined>;
}

/** An attack on something that needs no run. */
export interface DirectAttack extends AttackName {
  /** Agents of its own; a vendor of the ground's name is theirs. */
  readonly agents?: (ground: AttackGround) => readonly AgentDefinition[];
  /** What got through; undefined where nothing did. */
  readonly attempt: (world: ProviderWorld, ground: AttackGround) => Promise<string | undefined>;
}

/** Any attack. */
export type Attack = RunAttack | DirectAttack;

/** Says it where one of these texts stands in a text. */
export function found(text: string, planted: readonly string[], where: string): string | undefined {
  const got = planted.filter((each) => text.includes(each));
  return got.length === 0 ? undefined : `${got.length} of ${planted.length} found in ${where}`;
}

/** All texts in the history of the run. */
export async function historyText({
  world,
  run,
}: Pick<AttackTrace, 'run' | 'world'>): Promise<string> {
  const { events } = await world.temporal.workflow.getHandle(run.runId).fetchHistory();
  return textsIn(events ?? []).join('\n');
}

/** Words that only an attacker says. */
const attackersWords = /wire_money|rm -rf|obey|evil|ignore all/i;

/** A hint is read as advice: nothing that an attacker wrote may be in it. */
function isOwnHint(hint: unknown): boolean {
  return typeof hint === 'string' && !attackersWords.test(hint);
}

/** What is wrong with the fences, notes and errors of the run's requests. */
export function fenceProblem({
  world,
  run,
}: Pick<AttackTrace, 'run' | 'world'>): string | undefined {
  const requests = world.emulator.requests.filter(({ mount }) => mount === run.runId);
  return requests.flatMap((request) => requestProblems(request, isOwnHint))[0];
}
