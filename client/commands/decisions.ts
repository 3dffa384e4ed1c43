/** `holdfast approve`, `reject` and `answer`: ends a wait for a person. */
import type { Command } from 'commander';
import type { Decider } from '../person-requests';
import { chooseItem } from './choose-item';
import type { CommandContext, CommonOptions } from './command-context';
import { print, withClient } from './command-context';

interface DecisionOptions extends CommonOptions, Decider {
  readonly reason?: string;
  readonly question?: string;
}

function decider({ by, digest }: DecisionOptions): Decider {
  return { ...(by === undefined ? {} : { by }), ...(digest === undefined ? {} : { digest }) };
}

/** Adds `approve`. */
export function addApprove(program: Command, context: CommandContext): void {
  program
    .command('approve')
    .description('approve an action that waits')
    .argument('<run>', 'id of the run')
    .argument('[approval]', 'id of the approval; not needed where only one waits')
    .option('--by <name>', 'who approves')
    .option('--digest <digest>', 'refuse unless the action is the one with this digest')
    .option('--json', 'one JSON object')
    .action((runId: string, given: string | undefined, options: DecisionOptions) =>
      withClient(context, async (client) => {
        const run = client.run(runId);
        const approvalId = await chooseItem(run, 'approval', given);
        await run.approve(approvalId, decider(options));
        print(
          context,
          options,
          { runId, approvalId, decision: 'approve' },
          `approved ${approvalId}`,
        );
      }),
    );
}

/** Adds `reject`. */
export function addReject(program: Command, context: CommandContext): void {
  program
    .command('reject')
    .description('reject an action that waits; the model reads the reason')
    .argument('<run>', 'id of the run')
    .argument('[approval]', 'id of the approval; not needed where only one waits')
    .requiredOption('--reason <text>', 'why, for the model')
    .option('--by <name>', 'who rejects')
    .option('--digest <digest>', 'refuse unless the action is the one with this digest')
    .option('--json', 'one JSON object')
    .action((runId: string, given: string | undefined, options: DecisionOptions) =>
      withClient(context, async (client) => {
        const run = client.run(runId);
        const approvalId = await chooseItem(run, 'approval', given);
        await run.reject(approvalId, options.reason ?? '', decider(options));
        print(
          context,
          options,
          { runId, approvalId, decision: 'reject' },
          `rejected ${approvalId}`,
        );
      }),
    );
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
