/** What the gateway answers. Objects are open: the answers have further fields, and later versions more. */
import { z } from 'zod';
import type { RunEntry } from '../../client/history/fold';

const atMs = z.number().describe('Milliseconds since the epoch');

const statusWord = z.enum(['running', 'waiting', 'completed', 'stopped', 'failed', 'cancelled']);

const summaryFields = {
  runId: z.string(),
  status: statusWord,
  agent: z.string(),
  tenant: z.string().optional(),
  route: z.string().optional().describe('`provider/model` that answered last'),
  reason: z.string().optional().describe('Why it waits, or how it ended'),
  iteration: z.number().optional(),
  usd: z.number().optional().describe('Cost so far, as far as prices are known'),
  startedAtMs: atMs,
  closedAtMs: atMs.optional(),
};

const runSummary = z.object(summaryFields).meta({ id: 'RunSummary' });

export const runPage = z
  .object({
    runs: z.array(runSummary).readonly(),
    next: z.string().optional().describe('Cursor of the next page; absent after the last one'),
  })
  .meta({ id: 'RunPage' });

export const started = z.object({ runId: z.string() }).meta({ id: 'RunStarted' });

const expiry = {
  expiresAtMs: atMs.optional(),
  onExpiry: z.string().optional(),
  escalated: z.boolean().optional(),
};
const proposal = z.object({ strategy: z.string(), reasoning: z.string() }).optional();

/** What waits for a person. */
const pendingItem = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('approval'),
      approvalId: z.string(),
      digest: z.string().describe('What a decision is bound to'),
      tool: z.string(),
      label: z.string().optional(),
      shown: z
        .object({
          fields: z.array(z.object({ name: z.string(), value: z.string() })).readonly(),
          isPart: z.boolean().optional().describe('Something was left out for length'),
        })
        .describe('The arguments, field by field, as text that is safe to show'),
      input: z.unknown().optional().describe('The arguments, if they are short and hold no secret'),
      privileged: z.array(z.string()).readonly().optional(),
      proposal,
      ifApproved: z.string(),
      ifRejected: z.string(),
      ...expiry,
    }),
    z.object({
      type: z.literal('question'),
      questionId: z.string(),
      question: z.string(),
      proposal,
      ...expiry,
    }),
  ])
  .meta({ id: 'PendingItem' });

const cost = z.object({
  usd: z.number().optional(),
  pricedUsd: z.number().optional(),
  budgetUsd: z.number().optional(),
  budgetTokens: z.number().optional(),
});

const usage = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  cacheReadTokens: z.number(),
  cacheWriteTokens: z.number(),
});

export const runView = z
  .object({
    ...summaryFields,
    goal: z.string(),
    actingAgent: z.string().optional(),
    iteration: z.number(),
    maxIterations: z.number().optional(),
    isFallback: z.boolean(),
    doing: z.string().describe('What it does now, in a few words'),
    ending: z.string().optional(),
    lastError: z.string().optional(),
    toolCallsSucceeded: z.number(),
    toolCallsFailed: z.number(),
    failovers: z.number(),
    healed: z.record(z.string(), z.number()),
    usage,
    cost,
    segments: z.number(),
    pending: z.array(pendingItem).readonly().describe('What waits for a person'),
    decisions: z
      .array(z.object({ id: z.string(), atMs, what: z.string() }))
      .readonly()
      .optional()
      .describe('The last decisions of people, oldest first'),
  })
  .meta({ id: 'Run' });

export const outcome = z
  .object({
    status: z.enum(['completed', 'stopped', 'failed', 'cancelled']),
    answer: z.string().optional().describe('Of a completed run'),
    output: z.unknown().optional().describe('Of a completed run whose agent has an output schema'),
    reason: z.string().optional(),
    message: z.string().optional(),
    report: z.object({
      agent: z.string(),
      usage,
      cost,
      elapsedMs: z.number(),
      activeMs: z.number(),
    }),
  })
  .meta({ id: 'RunOutcome' });

const counted = z.array(z.object({ what: z.string(), times: z.int() })).readonly();

export const explanation = z
  .object({
    runId: z.string(),
    status: statusWord,
    cause: z.string().describe('In one word, for programs'),
    paragraph: z.string(),
    failed: counted,
    tried: counted,
    worked: counted,
    cost: z.string(),
    next: z
      .array(
        z.object({
          text: z.string(),
          command: z.string().optional().describe('Of `holdfast`, quoted for a shell'),
        }),
      )
      .readonly()
      .describe('What to do now'),
  })
  .meta({ id: 'Explanation' });

export const stillRunning = z
  .object({ status: z.literal('running') })
  .meta({ id: 'StillRunning', description: 'The run had not ended when the time was over' });

/** Every type of entry; a new one does not compile without. */
const entryTypes = {
  ErrorEvent: true,
  NoToolCallEvent: true,
  ToolResultErrorEvent: true,
  RunStartedEvent: true,
  IterationStartedEvent: true,
  ModelRepliedEvent: true,
  ToolCallStartedEvent: true,
  ToolCallSucceededEvent: true,
  SubagentStartedEvent: true,
  SubagentEndedEvent: true,
  HandoffEvent: true,
  GuardrailEvent: true,
  HealedEvent: true,
  FailoverEvent: true,
  MediaLeftOutEvent: true,
  ContextWarningEvent: true,
  PromptCutEvent: true,
  CompactionEvent: true,
  StuckEvent: true,
  RecoveryEvent: true,
  RecoveryOutcomeEvent: true,
  WaitStartedEvent: true,
  WaitEndedEvent: true,
  GuardWarnedEvent: true,
  MessageAddedEvent: true,
  EscalatedEvent: true,
  ReminderEvent: true,
  EditRefusedEvent: true,
  SignalDroppedEvent: true,
  NotifiedEvent: true,
  NotificationFailedEvent: true,
  SegmentStartedEvent: true,
  RunEndedEvent: true,
} satisfies Readonly<Record<RunEntry['type'], true>>;

const entry = z
  .object({
    id: z.string().describe('Stable: what `Last-Event-ID` and `after` take'),
    type: z.enum(Object.keys(entryTypes) as (keyof typeof entryTypes)[]),
    atMs,
    iteration: z.number(),
  })
  .meta({
    id: 'TimelineEntry',
    description: 'Its further fields: the table of events in docs/architecture.md',
  });

export const timelinePage = z
  .object({
    entries: z.array(entry).readonly(),
    next: z.string().optional().describe('`after` of the next page; absent where no more is there'),
  })
  .meta({ id: 'TimelinePage' });

export const transcriptPage = z
  .object({
    messages: z.array(z.object({ role: z.string() })).readonly(),
    total: z.int().describe('Messages of the whole transcript'),
    next: z.int().optional().describe('`offset` of the next page'),
  })
  .meta({ id: 'TranscriptPage' });

export const inboxPage = z
  .object({
    waits: z.array(z.object({ run: runSummary, item: pendingItem })).readonly(),
    next: z.string().optional(),
  })
  .meta({ id: 'InboxPage' });

export const providerList = z
  .object({
    providers: z
      .array(
        z.object({
          route: z.string(),
          status: z.enum(['healthy', 'degraded', 'down']),
          errorCount: z.number(),
          lastErrorReason: z.string().optional(),
          lastError: z.string().optional().describe('Only for tokens of all tenants'),
          lastFailureAtMs: atMs.optional(),
          lastSuccessAtMs: atMs.optional(),
          cooldownUntilMs: z.number(),
        }),
      )
      .readonly(),
  })
  .meta({ id: 'ProviderList' });

export const pattern = z
  .object({
    id: z.string(),
    tenant: z.string(),
    status: z.enum(['candidate', 'active', 'demoted', 'disabled']),
  })
  .meta({ id: 'Pattern', description: 'Its further fields: `holdfast patterns show`' });

export const patternList = z
  .object({ patterns: z.array(pattern).readonly() })
  .meta({ id: 'PatternList' });

export const caller = z
  .object({
    name: z.string(),
    role: z.enum(['view', 'operate']),
    tenant: z.string().optional().describe('Absent: all tenants'),
  })
  .meta({ id: 'Caller' });
