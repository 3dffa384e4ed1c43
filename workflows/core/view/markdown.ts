/** A run's status as Markdown, for the Web UI's current details. */
import { proposalText } from '../recovery/text';
import type { PendingItem } from './pending';
import type { StatusRow } from './rows';
import { statusRows } from './rows';
import type { RunStatusView } from './status';
import { shortened } from '../shortened';

/** Longest value of one line of the Web UI's details, in characters. */
const detailChars = 500;

/** Characters of what a person is asked: the command that answers must stay on the line. */
const wantedChars = 350;

/** Text as one line of Markdown in which nothing of it is markup. */
export function escapeMarkdown(text: string): string {
  const line = shortened(text, detailChars).replace(/\s+/g, ' ');
  return line.replace(/[\\`*_<>[\]|#~$]/g, (character) => `\\${character}`);
}

/** What a person is asked, why, what follows, and the command that answers. */
function wantedRows(runId: string, item: PendingItem): readonly StatusRow[] {
  const { proposal } = item;
  const because: readonly StatusRow[] =
    proposal === undefined ? [] : [['Proposal', proposalText(proposal)]];
  if (item.type === 'question')
    return [
      ['Asks', `${shortened(item.question, wantedChars)} -- holdfast answer ${runId} TEXT`],
      ...because,
    ];
  const input = shortened(JSON.stringify(item.input ?? 'arguments in the store'), wantedChars);
  return [
    [
      'Wants approval',
      `${item.tool} ${input} -- holdfast approve ${runId} ${item.approvalId}, or reject`,
    ],
    ...because,
    ['If approved', item.ifApproved],
    ['If rejected', item.ifRejected],
  ];
}

/** How the run ended; the command line says it at greater length. */
function endingRow({ status, ending }: RunStatusView): readonly StatusRow[] {
  return ending === undefined ? [] : [[status === 'completed' ? 'Answer' : 'Message', ending]];
}

/** The Web UI's current details: what a person wants to know about a run at a glance, in Markdown. */
export function statusMarkdown(
  runId: string,
  view: RunStatusView,
  pending: readonly PendingItem[],
): string {
  const wanted = pending.flatMap((item) => wantedRows(runId, item));
  const rows = [...statusRows(view), ...endingRow(view), ...wanted];
  const lines = rows.map(([name, value]) => `- **${name}:** ${escapeMarkdown(value)}`);
  return [`### ${view.status}`, ...lines].join('\n');
}
