/** Types by which a start infers an agent's context, output and tools from its definition. Types only: nothing of it is left at run time. */
import type { JsonObject, JsonValue } from './json';
import type { RunOutcome } from './run/outcome';
import type { RunRequest } from './run/ports';

/** The types of a zod schema. */
interface SchemaTypes {
  readonly _zod: { readonly input: unknown; readonly output: unknown };
}

/** What a start reads of an agent's definition: `defineAgent` returns one, and its type alone is enough. */
export interface AgentType {
  readonly name: string;
  readonly context?: SchemaTypes;
  readonly output?: SchemaTypes;
  readonly tools: readonly { readonly name: string }[];
}

type Side = 'input' | 'output';

/** A schema's type; `undefined` where there is no schema. */
type TypeIn<Schema, Of extends Side> = Schema extends SchemaTypes ? Schema['_zod'][Of] : undefined;

/** The context that a start must give: of an agent known by its name only, any or none. */
export type ContextOf<Agent extends AgentType> = Agent extends { readonly context?: infer Schema }
  ? TypeIn<NonNullable<Schema>, 'input'>
  : undefined;

/** Makes `context` required, optional or forbidden, as the agent's schema says. */
export type GivenContext<Context> = unknown extends Context
  ? { readonly context?: JsonObject }
  : [Context] extends [undefined]
    ? { readonly context?: never }
    : { readonly context: Context };

/** The output of a completed run: as the agent's schema returns it, or `input`, as the history holds it. */
export type OutputOf<Agent extends AgentType, Of extends Side> = Agent extends {
  readonly output?: infer Schema;
}
  ? KnownOr<JsonValue | undefined, TypeIn<NonNullable<Schema>, Of>>
  : JsonValue | undefined;

/** `Otherwise` for a type that says nothing. */
type KnownOr<Otherwise, Type> = unknown extends Type
  ? Otherwise
  : [Type] extends [undefined]
    ? Otherwise
    : Type;

/** What only the runtime sets. */
type OfRuntime =
  | 'parent'
  | 'pendingResults'
  | 'runtimeResults'
  | 'origins'
  | 'contextOf'
  | 'actingAgent'
  | 'head'
  | 'storeId';

/** What a start of this agent takes, without its context. */
export type StartOf<Agent extends AgentType> = Omit<
  RunRequest,
  'agent' | 'context' | 'repeatEffects' | OfRuntime
> & { readonly repeatEffects?: readonly Agent['tools'][number]['name'][] };

/** What starts a run of this agent. */
export type AgentRequest<Agent extends AgentType> = StartOf<Agent> & GivenContext<ContextOf<Agent>>;

type Completed = Extract<RunOutcome, { status: 'completed' }>;

/** A run's end; `output` of a completed run has the type of the schema. */
export type RunResult<Output = JsonValue | undefined> =
  (Omit<Completed, 'output'> & { readonly output: Output }) | Exclude<RunOutcome, Completed>;
