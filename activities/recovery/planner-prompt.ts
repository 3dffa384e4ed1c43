/** The planner's prompt: the state of the run. */
import type { Message } from '../../workflows/core/message';
import type { StuckContext } from '../../workflows/core/recovery/action';
import type { PlanRecoveryInput } from '../../workflows/core/recovery/ports';
import { failureBehind } from '../../workflows/core/recovery/heuristics';
import { recordLines } from '../context/record-text';
import type { RunConfig } from '../definitions/run-config';
import type { ToolSpec } from '../providers/provider';
import { inputSignature } from '../providers/request/input-signature';
import { indentLines } from '../untrusted/transcript-text';
import { boundText } from '../untrusted/sanitizer';

/** Characters of one tool and of all of them. */
const toolChars = 900;
const toolsChars = 12_000;

/** Characters of one entry and of the whole end of the conversation (ADR 0026). */
const entryChars = 1_200;
const tailChars = 8_000;

function list(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `- ${indentLines(line)}`)];
}

function toolLines(tools: readonly ToolSpec[]): readonly string[] {
  return tools.map((tool) =>
    boundText(
      `${tool.name}: ${tool.description} Inputs: ${inputSignature(tool.inputSchema)}`,
      toolChars,
    ),
  );
}

function failureLines({ failures }: StuckContext): readonly string[] {
  return failures.map(({ tool, code, message, hint, input }) => {
    const given = input === undefined ? '' : ` with ${JSON.stringify(input)}`;
    return `${tool === '' ? 'a reply' : tool}${given}: ${code}: ${message}${hint === undefined ? '' : ` (hint: ${hint})`}`;
  });
}

type KnownConfig = Pick<RunConfig, 'tools' | 'knowledge'>;

type Asked = Pick<PlanRecoveryInput, 'purpose' | 'context'>;

/** What is known of the tools that failed: others for the same purpose, and likely mistakes. */
function knownLines(
  { failures }: StuckContext,
  { tools, knowledge }: KnownConfig,
): readonly string[] {
  // Failures may have names that a model invented.
  const failed = tools.filter(({ name }) => failures.some(({ tool }) => tool === name));
  return failed.flatMap(({ name }) => {
    const others = knowledge?.alternatives[name] ?? [];
    const same = others.length === 0 ? [] : [`serves the same purpose as ${others.join(', ')}.`];
    const known = [...same, ...(knowledge?.hints[name] ?? []).map(({ hint }) => hint)];
    return known.length === 0 ? [] : [`${name}: ${known.join(' ')}`];
  });
}

/** The newest messages, oldest first. */
function transcriptTail(messages: readonly Message[]): string {
  const lines: string[] = [];
  let chars = 0;
  for (const message of messages.toReversed()) {
    const text = recordLines([message], entryChars).join('\n');
    chars += text.length + 1;
    if (chars > tailChars) {
      lines.unshift('[… earlier messages are left out …]');
      break;
    }
    if (text !== '') lines.unshift(text);
  }
  return lines.join('\n');
}

/** The end of the data, and the question. A small model answers what it read last (ADR 0092). */
function ending({ purpose, context }: Asked): readonly string[] {
  if (purpose === 'estimate')
    return ['--- end of data', 'Answer with the JSON object of the estimate.'];
  const { failures, trouble } = context;
  const hint = failureBehind(failures, trouble)?.hint;
  return [
    indentLines(`Stuck on: ${trouble.tool === '' ? '' : `${trouble.tool}: `}${trouble.message}`),
    '--- end of data',
    ...(hint === undefined ? [] : [indentLines(`Hint: ${hint}`)]),
    'Answer with the JSON object of the action that gets past it.',
  ];
}

/** The tools, then the state of the run. A plan's prompt ends with what the run is stuck on, the hint for it, and the question. */
export function plannerPrompt(
  asked: Asked,
  config: KnownConfig,
  messages: readonly Message[],
): string {
  const { context } = asked;
  const { estimate, latest } = context;
  return [
    boundText(list('Tools of the agent', toolLines(config.tools)).join('\n'), toolsChars),
    '--- data',
    indentLines(`Goal: ${context.goal}`),
    indentLines(
      `Progress: ${estimate.progressPercent} % after ${context.steps} steps. ${estimate.reasoning}`,
    ),
    ...list(
      'Latest step',
      latest === undefined
        ? []
        : [`${latest.action}: ${latest.success ? 'succeeded' : 'failed'}: ${latest.outcome}`],
    ),
    ...list('Completed', context.completedSteps),
    ...list('Known facts', context.facts),
    ...list('Unresolved failures', failureLines(context)),
    ...list('Blockers', estimate.blockers),
    ...list('Recovery actions that did not help', context.tried),
    ...list('Tools that must not be retried', context.exhaustedTools),
    ...list('Known about the tools that failed', knownLines(context, config)),
    'The end of the conversation:',
    transcriptTail(messages),
    ...ending(asked),
  ].join('\n');
}
