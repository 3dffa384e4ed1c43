/** A run's status as Markdown, for the Web UI's current details. */
import { proposalText } from '../recovery/text';
import { decisionText, startOf, visibleText } from '../secrets/visible-text';
import type { PendingItem } from './pending';
import type { StatusRow } from './rows';
import { statusRows } from './rows';
import { shellWord } from './shell-word';
import type { RunStatusView } from './status';

/** Longest value of one line of the Web UI's details, in characters. */
const detailChars = 500;

/** Text as one line of Markdown that is shown as it is: in code nothing is markup, a link or a formula, and no space is lost. */
export function codeSpan(text: string): string {
  const line = visibleText(text.replace(/[\r\n]+/g, ' ')).replaceAll('`', '\\u{60}');
  return line === '' ? '' : `\`${line}\``;
}

function row([name, value]: StatusRow): string {
  return `- **${name}:** ${codeSpan(startOf(value, detailChars))}`;
}

/** The arguments that are asked about, one line each, below their item. */
function argumentLines({ shown }: Extract<PendingItem, { type: 'approval' }>): readonly string[] {
  const { fields, more } = shown;
  return [
    ...fields.map(({ name, value }) => `  - ${codeSpan(`${name}: ${value}`)}`),
    ...(more === undefined ? [] : [`  - +${more} more values`]),
  ];
}

/** What a person is asked, why, what follows, and the commands that show the whole and answer. */
function wantedLines(givenId: string, item: PendingItem): readonly string[] {
  const runId = shellWord(givenId);
  const { proposal } = item;
  const because =
    proposal === undefined ? [] : [row(['Proposal', decisionText(proposalText(proposal))])];
  if (item.type === 'question') {
    const question = decisionText(item.question.replace(/\s+/g, ' '));
    return [
      row(['Asks', question]),
      ...(question.length > detailChars ? [row(['Whole', `holdfast show ${runId}`])] : []),
      ...because,
      row(['Answer with', `holdfast answer ${runId} TEXT`]),
    ];
  }
  const { tool, shown, ifApproved, ifRejected } = item;
  const approvalId = shellWord(item.approvalId);
  return [
    row(['Wants approval', decisionText(tool)]),
    ...argumentLines(item),
    ...(shown.isPart === true
      ? [row(['Whole', `holdfast show ${runId} --arguments ${approvalId}`])]
      : []),
    ...because,
    row(['If approved', ifApproved]),
    row(['If rejected', ifRejected]),
    row(['Decide with', `holdfast approve ${runId} ${approvalId}`]),
    row(['Or', `holdfast reject ${runId} ${approvalId} --reason TEXT`]),
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
  const lines = [...statusRows(view), ...endingRow(view)].map(row);
  const wanted = pending.flatMap((item) => wantedLines(runId, item));
  return [`### ${view.status}`, ...lines, ...wanted].join('\n');
}
