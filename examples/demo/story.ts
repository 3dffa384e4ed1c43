/** Prints a run as it happens: a label and a text per line, at most 80 columns wide. */
import { styleText } from 'node:util';
import type { Failure } from '../../workflows/core/failure';
import { printable } from '../../workers/cli/display/printable';
import type { TimelineEntry } from '../../workflows/core/run/protocol';

const labelColumns = 9;
const textColumns = 80 - labelColumns - 1;
/** Lines that one entry may take. */
const maxLines = 2;

type Style = Parameters<typeof styleText>[0];

/** Where the lines are written: a stream, or anything that takes text. */
export interface TextSink {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Writes the story's lines. */
export interface Story {
  line(text?: string): void;
  heading(text: string): void;
  /** A name and its value. */
  fact(name: string, value: string): void;
  /** Something that the demo itself did to the run. */
  demoAction(text: string): void;
  entry(entry: TimelineEntry): void;
}

interface LabeledText {
  readonly label: string;
  readonly style: Style;
  readonly text: string;
}

/** Cuts text into lines between words; the last one ends in an ellipsis if something is left over. */
function wrapped(text: string): readonly string[] {
  const lines: string[] = [];
  let rest = printable(text);
  while (rest.length > textColumns && lines.length < maxLines - 1) {
    const blank = rest.lastIndexOf(' ', textColumns);
    const end = blank > 0 ? blank : textColumns;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trim();
  }
  return [...lines, rest.length > textColumns ? `${rest.slice(0, textColumns - 1)}…` : rest];
}

function failureText(failure: Failure): string {
  return `${failure.code}: ${failure.message}`;
}

/** The result of a command: the first line of `run_command`. */
function commandEnd(summary: string, preview: string): string {
  return summary.startsWith('run_command') ? (preview.split('\n')[0] ?? '') : '';
}

/** What is printed about an event; undefined if other events say it. */
function labeledText(entry: TimelineEntry): LabeledText | undefined {
  switch (entry.type) {
    case 'ModelRepliedEvent':
      return { label: String(entry.iteration), style: 'bold', text: entry.text };
    case 'ToolCallStartedEvent':
      return { label: 'tool', style: 'cyan', text: entry.summary };
    case 'ToolCallSucceededEvent':
      return { label: '', style: 'dim', text: commandEnd(entry.summary, entry.preview) };
    case 'ErrorEvent':
      return { label: 'error', style: 'red', text: failureText(entry.failure) };
    case 'HealedEvent':
      return { label: 'healed', style: 'green', text: `${entry.code}: ${entry.how}` };
    case 'FailoverEvent':
      return { label: 'failover', style: 'yellow', text: `from ${entry.from} to ${entry.to}` };
    case 'StuckEvent':
      return { label: 'stuck', style: 'yellow', text: entry.reason };
    case 'RecoveryEvent':
      return { label: 'recovery', style: 'magenta', text: `${entry.decision}: ${entry.summary}` };
    case 'WaitStartedEvent':
      return { label: 'wait', style: 'yellow', text: entry.waitingFor };
    case 'CompactionEvent':
      return {
        label: 'compacted',
        style: 'yellow',
        text: `from ${entry.tokensBefore} to ${entry.tokensAfter} tokens (tier ${entry.tier})`,
      };
    case 'EscalatedEvent':
      return { label: 'escalated', style: 'yellow', text: entry.reason };
    case 'GuardWarnedEvent':
      return { label: 'guard', style: 'yellow', text: entry.message };
    case 'ReminderEvent':
      return { label: 'wait', style: 'yellow', text: entry.waitingFor };
    case 'SubagentStartedEvent':
      return { label: 'subagent', style: 'cyan', text: `${entry.agent}: ${entry.task}` };
    case 'SubagentEndedEvent':
      return { label: '', style: 'dim', text: `${entry.status}: ${entry.message}` };
    case 'HandoffEvent':
      return { label: 'handoff', style: 'cyan', text: `${entry.from} to ${entry.to}` };
    case 'GuardrailEvent':
      return { label: 'guardrail', style: 'yellow', text: `${entry.name} ${entry.verdict}` };
    case 'NoToolCallEvent':
    case 'EditRefusedEvent':
    case 'SignalDroppedEvent':
    case 'ToolResultErrorEvent':
    case 'RunStartedEvent':
    case 'IterationStartedEvent':
    case 'ContextWarningEvent':
    case 'PromptCutEvent':
    case 'MediaLeftOutEvent':
    case 'WaitEndedEvent':
    case 'RecoveryOutcomeEvent':
    case 'MessageAddedEvent':
    case 'NotifiedEvent':
    case 'NotificationFailedEvent':
    case 'SegmentStartedEvent':
    case 'RunEndedEvent':
      return undefined;
  }
}

/** A story printed to `sink`: colored on a terminal, plain elsewhere. */
export function storyOn(sink: TextSink): Story {
  const isColored = sink.isTTY === true && process.env['NO_COLOR'] === undefined;
  const paint = (style: Style, text: string): string =>
    isColored && text !== '' ? styleText(style, text) : text;
  const line = (text = ''): void => {
    sink.write(`${text}\n`);
  };
  const print = ({ label, style, text }: LabeledText): void => {
    if (text.trim() === '') return;
    const [first = '', ...more] = wrapped(text);
    line(`${paint('dim', label.padStart(labelColumns))} ${paint(style, first)}`);
    for (const each of more) line(`${' '.repeat(labelColumns + 1)}${paint(style, each)}`);
  };
  return {
    line,
    heading: (text) => {
      line(paint('bold', text));
    },
    fact: (name, value) => {
      print({ label: name, style: 'reset', text: value });
    },
    demoAction: (text) => {
      print({ label: 'demo', style: 'magenta', text });
    },
    entry: (entry) => {
      const text = labeledText(entry);
      if (text !== undefined) print(text);
    },
  };
}
