/** What a summary takes from the conversation without a model: people's words, changed files, earlier summaries. */
import { attachmentLabel } from '../../workflows/core/attachments';
import type { Message, ToolResultBlock, UserMessage } from '../../workflows/core/message';
import type { OpenMatters } from '../../workflows/core/context/ports';
import type { ToolPolicy } from '../../workflows/core/tools/ports';
import { askUserTool } from '../../workflows/core/tools/ports';
import { defined } from '../../workflows/core/json';
import { isRuntimeText } from '../untrusted/transcript-text';
import type { Store } from '../stores/store';
import type { ContextSummary } from './context-summary';
import { parseSummary } from './context-summary';
import { hasChangedNothing, personsDecision } from './result-reading';

/** How the text of an attached file begins. */
const attachedFile = /^\[file \d+: [^\]\n]*\](?=\n<tool_output )/;

/** A person's own words, in which each image or file is named as it was when they sent them. */
function textOf(message: UserMessage): string {
  let attachments = 0;
  const texts = message.blocks.map((block) => {
    if (block.type !== 'text') return attachmentLabel(block, attachments++);
    const [file] = attachedFile.exec(block.text) ?? [];
    if (file !== undefined) attachments += 1;
    return file ?? block.text;
  });
  return texts.join('\n').trim();
}

function peoplesTexts(messages: readonly Message[], goal: string): readonly string[] {
  return messages.flatMap((message): readonly string[] => {
    if (message.role === 'tool')
      return message.results
        .filter(({ name, isError }) => name === askUserTool && !isError)
        .map(({ content }) => `Answer to a question: ${content}`);
    if (message.role === 'assistant' || message.summary !== undefined) return [];
    const text = textOf(message);
    const isGoal = goal !== '' && text.startsWith(goal);
    return text === '' || isGoal || isRuntimeText(text) ? [] : [text];
  });
}

function resultsOf(messages: readonly Message[]): readonly ToolResultBlock[] {
  return messages.flatMap((message) => (message.role === 'tool' ? message.results : []));
}

function changedFiles(
  messages: readonly Message[],
  policies: readonly ToolPolicy[],
): readonly string[] {
  const vain = resultsOf(messages).filter(hasChangedNothing);
  const failed = new Set(vain.map(({ toolCallId }) => toolCallId));
  const calls = messages
    .flatMap((message) => (message.role === 'assistant' ? message.blocks : []))
    .filter((block) => block.type === 'tool-call');
  return calls.flatMap(({ name, input, toolCallId }) => {
    const field = policies.find((policy) => policy.name === name)?.editsFile;
    const path = field === undefined ? undefined : input[field];
    return typeof path === 'string' && !failed.has(toolCallId) ? [`${path} (${name})`] : [];
  });
}

/** Stores the whole goal if a summary can only repeat its beginning. */
async function goalRefOf(
  store: Store,
  messages: readonly Message[],
  goal: string,
): Promise<string | undefined> {
  const whole = messages
    .flatMap((message) =>
      message.role === 'user' && message.summary === undefined ? [textOf(message)] : [],
    )
    .find((text) => text.startsWith(goal) && text.length > goal.length);
  return whole === undefined || goal === '' ? undefined : store.putBlob(whole);
}

/** The summaries among the messages, oldest first. */
export async function earlierSummaries(
  store: Store,
  messages: readonly Message[],
): Promise<readonly ContextSummary[]> {
  const refs = messages.flatMap((message) =>
    message.role === 'user' && message.summary !== undefined ? [message.summary] : [],
  );
  const found = await Promise.all(
    refs.map(async (ref) => parseSummary((await store.getBlob(ref)).toString('utf8'))),
  );
  return found.filter((summary) => summary !== undefined);
}

/** The part of a summary that needs no model. Contract: only what the transcript proves. */
export async function provenSummary(
  store: Store,
  messages: readonly Message[],
  matters: OpenMatters,
  policies: readonly ToolPolicy[],
): Promise<ContextSummary> {
  const goalRef = await goalRefOf(store, messages, matters.goal);
  return {
    version: 1,
    goal: matters.goal,
    ...defined({ goalRef }),
    people: peoplesTexts(messages, matters.goal),
    approvals: matters.approvals,
    files: changedFiles(messages, policies),
    errors: matters.errors,
    decisions: resultsOf(messages).flatMap((result) => personsDecision(result) ?? []),
    facts: [],
    progress: [],
    compactions: 1,
  };
}
