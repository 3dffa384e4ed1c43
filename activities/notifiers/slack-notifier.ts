/** Posts notifications to an incoming webhook of Slack, or of anything that takes Slack's blocks (Mattermost, Rocket.Chat). */
import type { Notification, Notifier } from '../definitions/notifier';
import { checkedUrl, postJson, receiverTimeoutMs } from './post-json';
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

/** Nothing in a text is markup: no link, no mention of a channel. Source: Slack, Formatting text for app surfaces. */
function plain(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

function section(title: string, text: string): object[] {
  if (text === '') return [];
  const body = shortened(`*${title}*\n${plain(text)}`, sectionChars);
  return [{ type: 'section', text: { type: 'mrkdwn', text: body } }];
}

const heads: { readonly [Kind in Notification['kind']]: string } = {
  escalation: 'waits for a person',
  question: 'asks a question',
  approval: 'needs approval',
};

/** The message as Slack takes it: blocks, and text for notifications that show no blocks. */
function slackMessage(notification: Notification): {
  readonly text: string;
  readonly blocks: readonly object[];
} {
  const { kind, agent, runId, asked, goal, worked, didNotWork, lastError, link } = notification;
  const head = `Run of ${agent} ${heads[kind]}`;
  const how = `\`${plain(notification.answerWith)}\``;
  const where = link === undefined ? [] : [`<${link}|Open in Temporal>`];
  return {
    text: shortened(plain(`${head}: ${asked}`), sectionChars),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: shortened(head, headerChars) } },
      ...section('Asked', asked),
      ...section('Goal', goal),
      ...section('Last error', lastError ?? ''),
      ...section('What did not work', didNotWork.join('\n')),
      ...section('What worked', worked.join('\n')),
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
 * Errors: TypeError at once for an address that cannot be used.
 */
export function slackNotifier(options: SlackOptions): Notifier {
  const { name = 'slack', timeoutMs = receiverTimeoutMs } = options;
  const url = checkedUrl(name, options.url);
  return {
    name,
    notify: (notification, signal) =>
      postJson(url, JSON.stringify(slackMessage(notification)), {}, { signal, timeoutMs }),
  };
}
