/** Tells a run as it happens: one line per thing that a spectator wants to see, at most 80 columns wide. */
import { styleText } from 'node:util';
import type { Failure } from '../../workflows/core/failure';
import type { TimelineEntry } from '../../workflows/core/run-protocol';

const columns = 80;
const indent = '      ';

type Style = Parameters<typeof styleText>[0];

/** Where a story is told. */
export interface Paper {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Writes the story's lines. */
export interface Story {
  /** A line as it is. */
  line(text?: string): void;
  heading(text: string): void;
  fact(name: string, value: string): void;
  /** Something that the demo itself did to the run. */
  deed(text: string): void;
  entry(entry: TimelineEntry): void;
}

/** Cuts text to what remains of a line. */
function fit(text: string, width: number): string {
  const single = text.replace(/\s+/g, ' ').trim();
  return single.length <= width ? single : `${single.slice(0, width - 1)}…`;
}

function failureText(failure: Failure): string {
  const where = failure.kind === 'infra' ? failure.route : failure.toolName;
  return `${failure.code}${where === undefined ? '' : ` (${where})`}: ${failure.message}`;
}

/** What an entry says, with its mark; undefined for entries that other lines tell already. */
function told(entry: TimelineEntry): { mark: string; style: Style; text: string } | undefined {
  switch (entry.type) {
    case 'ModelRepliedEvent':
      return { mark: ' ', style: 'reset', text: entry.text };
    case 'ToolCallStartedEvent':
      return { mark: '>', style: 'cyan', text: entry.summary };
    case 'ErrorEvent':
      return { mark: 'x', style: 'red', text: failureText(entry.failure) };
    case 'HealedEvent':
      return { mark: '+', style: 'green', text: `healed ${entry.code}: ${entry.how}` };
    case 'FailoverEvent':
      return {
        mark: '~',
        style: 'yellow',
        text: `failover from ${entry.from} to ${entry.to} (${entry.reason})`,
      };
    case 'WaitStartedEvent':
      return { mark: ' ', style: 'yellow', text: `waiting for ${entry.waitingFor}` };
    case 'EscalatedEvent':
      return { mark: '!', style: 'yellow', text: `escalated: ${entry.reason}` };
    case 'NoToolCallEvent':
    case 'ToolResultErrorEvent':
    case 'RunStartedEvent':
    case 'IterationStartedEvent':
    case 'ToolCallSucceededEvent':
    case 'WaitEndedEvent':
    case 'MessageAddedEvent':
    case 'SegmentStartedEvent':
    case 'RunEndedEvent':
      return undefined;
  }
}

/** A storyteller on this paper: coloured on a terminal, plain elsewhere. */
export function storyOn(paper: Paper): Story {
  const isColoured = paper.isTTY === true && process.env['NO_COLOR'] === undefined;
  const paint = (style: Style, text: string): string =>
    isColoured ? styleText(style, text) : text;
  const line = (text = ''): void => {
    paper.write(`${text}\n`);
  };
  let shown = 0;
  const number = (iteration: number): string => {
    if (iteration === shown || iteration === 0) return indent;
    shown = iteration;
    return `${String(iteration).padStart(4)}  `;
  };
  return {
    line,
    heading: (text) => {
      line(paint('bold', text));
    },
    fact: (name, value) => {
      line(`  ${paint('dim', name.padEnd(10))}  ${fit(value, columns - 14)}`);
    },
    deed: (text) => {
      line(`${indent}${paint('magenta', `# ${fit(text, columns - 8)}`)}`);
    },
    entry: (entry) => {
      const said = told(entry);
      if (said === undefined || said.text === '') return;
      const text = `${said.mark} ${fit(said.text, columns - 8)}`;
      line(`${paint('dim', number(entry.iteration))}${paint(said.style, text)}`);
    },
  };
}
