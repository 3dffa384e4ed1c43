/** Workflows of a user: one of their own, and one that lets an agent do a part of the work. */
import { proxyActivities } from '@temporalio/workflow';
import { runAgent } from '../workflows/index';

/** The user's own activities. */
export interface TicketActivities {
  fileUnder(ticket: string, queue: string): Promise<string>;
}

const { fileUnder } = proxyActivities<TicketActivities>({ startToCloseTimeout: '10 seconds' });

/** Files a ticket where the caller says. */
export async function fileTicket(ticket: string, queue: string): Promise<string> {
  return fileUnder(ticket, queue);
}

/** Asks the agent `triage` where a ticket belongs, and files it there, or under `unsorted` if the agent fails. */
export async function triageTicket(ticket: string): Promise<string> {
  const outcome = await runAgent({
    agent: 'triage',
    goal: `Which queue does this ticket belong to, "billing" or "technical"? ${ticket}`,
  });
  return fileUnder(ticket, outcome.status === 'completed' ? outcome.answer : 'unsorted');
}
