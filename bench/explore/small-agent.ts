/** A small agent, and everything that what it starts may come to. */
import type { AgentSnapshot, RunRequest } from '../../workflows/core/run/ports';

/** A tool call of a reply. */
export interface CallSpec {
  readonly name: string;
  readonly input?: { readonly [key: string]: string | number };
  /** A person must approve it. */
  readonly approval?: true;
  /** It does not fit the tool's schema. */
  readonly isBad?: true;
  /** The file that it edits. */
  readonly file?: string;
  /** The privileged parameter that it uses. */
  readonly privileged?: string;
}

/** What people may do. */
export type PersonAct =
  'approve' | 'reject' | 'edit' | 'answer' | 'say' | 'escalate' | 'stop' | 'cancel';

/**
 * A small agent. The lists name outcomes: `x:CODE` is a failure of the infrastructure, `x:CODE?` one of which nobody knows what it
 * cost; the others are explained in `outcomes.ts`.
 */
export interface SmallAgent {
  /** What it shows, in a few words. */
  readonly about: string;
  /** Actions from the opening on that the exhaustive search goes. */
  readonly depth: number;
  /** Actions before the search begins; `PREFIX` stands for the prefix of the run's call ids. */
  readonly opening?: readonly string[];
  readonly snapshot: AgentSnapshot;
  readonly request?: Partial<RunRequest>;
  readonly people: readonly PersonAct[];
  /** How often people may speak, and ask to take over. Default 1. */
  readonly messages?: number;
  readonly escalations?: number;
  readonly prepare?: readonly string[];
  /** The calls of a reply, by its name. */
  readonly replies?: { readonly [name: string]: readonly CallSpec[] };
  /** What a model call may come to; the first call is 1. */
  readonly model: (call: number) => readonly string[];
  /** What a call of a tool may come to; `ok` where nothing is said. */
  readonly tools?: { readonly [tool: string]: readonly string[] };
  readonly compactions?: readonly string[];
  readonly plans?: readonly string[];
  /** The tool that a plan names. Default `a`. */
  readonly planTool?: string;
  readonly checks?: readonly string[];
  readonly subagents?: readonly string[];
  readonly guardrails?: readonly string[];
  readonly handovers?: readonly string[];
  /** Nanodollars of a model call. Default 1,000. */
  readonly price?: number;
  /** Every result of a tool is the same. */
  readonly sameResults?: true;
  readonly notifications?: readonly string[];
}
