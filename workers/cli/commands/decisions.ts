/** `holdfast approve`, `reject` and `answer`: ends a wait for a person. */
import type { Command } from 'commander';
import type { Decider } from '../../../client/person-requests';
import type { RunHandle } from '../../../client/run-handle';
import { chooseItem } from './choose-item';
import type { CommandContext, CommonOptions } from '../command-context';
import { print, withClient } from '../command-context';

interface DecisionOptions extends CommonOptions, Decider {
  readonly reason?: string;
  readonly question?: string;
  readonly edit?: string;
}

/** Sends a decision; returns what was done, in words and as JSON. */
type SendDecision = (
  run: RunHandle,
  approvalId: string,
  options: DecisionOptions,
) => Promise<{ readonly said: string; readonly more?: object }>;

function decider({ by, digest }: DecisionOptions): Decider {
  return { ...(by === undefined ? {} : { by }), ...(digest === undefined ? {} : { digest }) };
}

const sendApproval: SendDecision = async (run, approvalId, options) => {
  const { readEdit } = await import('./read-edit.ts');
  const input = options.edit === undefined ? undefined : await readEdit(options.edit);
  const edit = input === undefined ? {} : { input };
  await run.approve(approvalId, { ...decider(options), ...edit });
  const how = input === undefined ? '' : ' with changed arguments';
  return { said: `approved ${approvalId}${how}`, more: edit };
};

const sendRejection: SendDecision = async (run, approvalId, options) => {
  await run.reject(approvalId, options.reason ?? '', decider(options));
  return { said: `rejected ${approvalId}` };
};

/** What both decisions on an approval have in common. */
function decides(command: Command, context: CommandContext, send: SendDecision): Command {
  return command
    .argument('<run>', 'id of the run')
    .argument('[approval]', 'id of the approval; not needed where only one waits')
    .option('--by <name>', 'who decides')
    .option('--digest <digest>', 'refuse unless the action is the one with this digest')
    .option('--json', 'one JSON object')
    .action((runId: string, given: string | undefined, options: DecisionOptions) =>
      withClient(context, async (client) => {
        const run = client.run(runId);
        const approvalId = await chooseItem(run, 'approval', given);
        const { said, more = {} } = await send(run, approvalId, options);
        const decision = command.name();
        print(context, options, { runId, approvalId, decision, ...more }, said);
      }),
    );
}

/** Adds `approve`. */
export function addApprove(program: Command, context: CommandContext): void {
  const command = program
    .command('approve')
    .description('approve an action that waits, perhaps with other arguments')
    .option('--edit <file|json>', 'run it with these arguments; the model is told what changed');
  decides(command, context, sendApproval);
}

/** Adds `reject`. */
export function addReject(program: Command, context: CommandContext): void {
  const command = program
    .command('reject')
    .description('reject an action that waits; the model reads the reason')
    .requiredOption('--reason <text>', 'why, for the model');
  decides(command, context, sendRejection);
}

/** Adds `answer`. */
export function addAnswer(program: Command, context: CommandContext): void {
  program
    .command('answer')
    .description('answer a question of the agent, or let an escalated run go on')
    .argument('<run>', 'id of the run')
    .argument('<text>', 'the answer')
    .option('--question <id>', 'id of the question; not needed where only one waits')
    .option('--by <name>', 'who answers')
    .option('--json', 'one JSON object')
    .action((runId: string, text: string, options: DecisionOptions) =>
      withClient(context, async (client) => {
        const run = client.run(runId);
        const questionId = await chooseItem(run, 'question', options.question);
        await run.answer(questionId, text, decider(options));
        print(context, options, { runId, questionId, answered: true }, `answered ${questionId}`);
      }),
    );
}
