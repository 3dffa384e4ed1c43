/** What a store keeps for learning: the corpus of errors and what fixed them, the patterns drawn from it, tools' knowledge. */
import type { remedies } from '../../../workflows/core/recovery/action';
import type { AgentErrorCode } from '../../../workflows/core/failure';

/** What kind of value a parameter had; never the value itself. */
export type ValueShape =
  | 'absent'
  | 'empty'
  | 'boolean'
  | 'number'
  | 'numeric text'
  | 'word'
  | 'text'
  | 'bare file name'
  | 'relative path'
  | 'absolute path'
  | 'path with line'
  | 'url'
  | 'email'
  | 'date'
  | 'list'
  | 'object'
  | 'null';

/** How a corrected value comes from the wrong one. */
export type ValueTransform =
  | 'strip line suffix'
  | 'strip leading slash'
  | 'strip ./'
  | 'strip quotes'
  | 'last part of path'
  | 'trim'
  | 'to number'
  | 'to text'
  | 'to boolean'
  | 'to lower case'
  | 'to upper case'
  | 'wrap in list'
  | 'take out of list';

/** How one parameter differs between the call that failed and the one that worked. */
export type ParameterChange =
  /** The value stood in the result of another tool. */
  | {
      readonly type: 'from-result';
      readonly parameter: string;
      readonly tool: string;
      readonly was: ValueShape;
      readonly becomes: ValueShape;
    }
  | {
      readonly type: 'transformed';
      readonly parameter: string;
      readonly transform: ValueTransform;
    }
  /** The value of another parameter of the call that failed. */
  | { readonly type: 'copied'; readonly parameter: string; readonly from: string }
  /** A value that the tool's own schema lists. */
  | {
      readonly type: 'constant';
      readonly parameter: string;
      readonly value: string | number | boolean;
    }
  /** Something else: advice in words only. */
  | {
      readonly type: 'changed';
      readonly parameter: string;
      readonly was: ValueShape;
      readonly becomes: ValueShape;
    };

/** What was done about an error, as a template without values. */
export interface Fix {
  readonly strategy: (typeof remedies)[number];
  /** The tool whose call worked. */
  readonly toolName: string;
  readonly changes: readonly ParameterChange[];
}

/** Name and kind of one parameter of a call that failed. */
export interface InputField {
  readonly name: string;
  readonly shape: ValueShape;
}

/** One error and what became of it. */
export interface Observation {
  /** Stable over attempts; recording it twice is recording it once. */
  readonly key: string;
  readonly tenant: string;
  readonly agent: string;
  /** Tool whose call failed; empty where the reply as a whole was wrong. */
  readonly tool: string;
  readonly errorCode: AgentErrorCode;
  /** From `errorFingerprint`: equal for errors of the same kind. */
  readonly errorFingerprint: string;
  /** The error without names, numbers and quoted parts. */
  readonly errorText: string;
  readonly input: readonly InputField[];
  readonly fixedBy: 'model' | 'action' | 'person' | 'none';
  /** What worked; with `fixedBy` `none`, what was tried in vain. */
  readonly fix?: Fix;
  /** Iterations from the error to its end. */
  readonly steps: number;
  /** The pattern that proposed the fix, whose uses are counted apart. */
  readonly patternId?: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** Successes and failures, each weighed by its age at `atMs`. */
export interface Evidence {
  readonly successes: number;
  readonly failures: number;
  readonly atMs: number;
}

/** One use of a pattern by a run. */
export interface PatternUse {
  /** Stable over attempts: counting it twice is counting it once. */
  readonly key: string;
  readonly helped: boolean;
}

/** Whether a pattern is used: not yet, yes, no longer because it failed, or never because a person said so. */
export type PatternStatus = 'candidate' | 'active' | 'demoted' | 'disabled';

/** A fix that has worked for a kind of error, and how sure that is. */
export interface Pattern {
  /** From tenant, tool, error and fix: the same fix for the same error is the same pattern. */
  readonly id: string;
  readonly tenant: string;
  readonly tool: string;
  readonly errorCode: AgentErrorCode;
  readonly errorFingerprint: string;
  readonly errorText: string;
  readonly fix: Fix;
  /** From the corpus. */
  readonly observed: Evidence;
  /** From the runs that used the pattern. */
  readonly used: Evidence;
  /** The last uses, newest last, at most 5. */
  readonly lastUses: readonly PatternUse[];
  readonly status: PatternStatus;
  /** When the status last changed. */
  readonly statusAtMs: number;
  readonly createdAtMs: number;
  readonly lastUsedAtMs?: number;
}

/** Which patterns are asked for; an absent field means any. */
export interface PatternFilter {
  readonly tenant?: string;
  readonly tool?: string;
  readonly errorFingerprint?: string;
}

/**
 * Keeps what runs learn.
 *
 * Contract: everything is scoped by tenant and bounded per tenant, the oldest goes first; text is sanitised on its way in;
 * a record that was damaged counts as none. Writes are atomic and harmless when repeated.
 * Errors: `store_unavailable`.
 */
export interface PatternStore {
  /** Records observations whose keys are new. */
  recordObservations(observations: readonly Observation[]): Promise<void>;
  /** A tenant's observations, newest first. */
  observations(tenant: string): Promise<readonly Observation[]>;
  /** Tenants that have observations. */
  tenants(): Promise<readonly string[]>;
  /** Patterns that fit, oldest first. */
  patterns(filter?: PatternFilter): Promise<readonly Pattern[]>;
  pattern(id: string): Promise<Pattern | undefined>;
  /**
   * Replaces a pattern by what `change` makes of it, while nobody else can; undefined leaves it as it is. `change` may run
   * twice, its last answer counts. Returns the pattern after it.
   */
  updatePattern(
    id: string,
    change: (known: Pattern | undefined) => Pattern | undefined,
  ): Promise<Pattern | undefined>;
  /** What was found out about a set of tools, by the digest of their definitions. */
  knowledge(digest: string): Promise<string | undefined>;
  /** Keeps it; the first one stays. */
  keepKnowledge(digest: string, json: string): Promise<void>;
}
