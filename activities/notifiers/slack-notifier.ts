/** Posts notifications to an incoming webhook of Slack, or of anything that takes Slack's blocks (Mattermost, Rocket.Chat). */
import { z } from 'zod';
import type { Notification, Notifier } from '../definitions/notifier';
import { argumentLines } from './argument-lines';
import { checkReceiver, postJson, receiverShape, receiverTimeoutMs } from './post-json';
import { shortened } from '../../workflows/core/shortened';

/** An incoming webhook. */
export interface SlackOptions {
  /** Default `slack`. */
  readonly name?: string;
  /** A secret: whoever has it can post. */
  readonly url: string;
  /** Milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
}

/** Characters of a section's text and of a header that Slack takes (3,000 and 150, its Block Kit reference). */
const sectionChars = 2_900;
const headerChars = 150;
/** A line is folded after so many characters, so that it fits even if each becomes an entity. */
const foldedLine = /[^]{1,500}/gu;

/** No link, no mention of a channel, and no entity. Source: Slack, Formatting text for app surfaces. */
function plain(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

/** Lines of others' text, each with a bar in front, in pieces that a section takes. */
function pieces(lines: readonly string[]): readonly string[] {
  const filled: string[] = [];
  for (const line of lines.flatMap((each) => each.match(foldedLine) ?? [''])) {
    const last = filled.at(-1);
    const text = `| ${plain(line)}`;
    if (last === undefined || last.length + 1 + text.length > sectionChars) filled.push(text);
    else filled[filled.length - 1] = `${last}\n${text}`;
  }
  return filled;
}

/** Texts of others below our own title: plain text has no markup, and the bar before each line tells it from our lines. */
function section(title: string, lines: readonly string[]): readonly object[] {
  if (lines.join('') === '') return [];
  return [
    { type: 'section', text: { type: 'mrkdwn', text: `*${title}*` } },
    ...pieces(lines).map((text) => ({
      type: 'section',
      text: { type: 'plain_text', emoji: false, text },
    })),
  ];
}

const linesOf = (text: string): readonly string[] => text.split('\n');

const heads: { readonly [Kind in Notification['kind']]: string } = {
  escalation: 'waits for a person',
  question: 'asks a question',
  approval: 'needs approval',
};

/** The message as Slack takes it: blocks, and text for notifications that show no blocks. */
function slackMessage(notification: Notification): {
  readonly text: string;
  readonly mrkdwn: false;
  readonly unfurl_links: false;
  readonly unfurl_media: false;
  readonly blocks: readonly object[];
} {
  const { kind, agent, runId, asked, goal, worked, didNotWork, lastError, link } = notification;
  const head = `Run of ${agent} ${heads[kind]}`;
  const how = `\`${plain(notification.answerWith)}\``;
  const where = link === undefined ? [] : [`<${link}|Open in Temporal>`];
  return {
    text: shortened(plain(`${head}: ${asked.replace(/\s+/g, ' ')}`), sectionChars),
    mrkdwn: false,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: shortened(head, headerChars) } },
      ...section('Asked', linesOf(asked)),
      ...section('Arguments', argumentLines(notification)),
      ...section('Goal', linesOf(goal)),
      ...section('Last error', linesOf(lastError ?? '')),
      ...section('What did not work', didNotWork.flatMap(linesOf)),
      ...section('What worked', worked.flatMap(linesOf)),
      {
        type: 'section',
        text: { type: 'mrkdwn', text: [`*Answer with* ${how}`, ...where].join('\n') },
      },
      {
        type: 'context',
        elements: [{ type: 'plain_text', text: `${runId}, iteration ${notification.iteration}` }],
      },
    ],
  };
}

/**
 * A notifier for Slack.
 *
 * Errors: `UserError` at once for an option that cannot be used.
 */
export function slackNotifier(options: SlackOptions): Notifier {
  checkReceiver('slackNotifier', z.strictObject(receiverShape), options);
  const { name = 'slack', url, timeoutMs = receiverTimeoutMs } = options;
  return {
    name,
    notify: (notification, signal) =>
      postJson(url, JSON.stringify(slackMessage(notification)), {}, { signal, timeoutMs }),
  };
}
