/** Refuses a run whose images and files no route of its agent can send, before anything is spent (ADR 0056). */
import { readAttachments, untakenProblem } from '../../../workflows/core/attachments';
import { attachmentsPerText } from '../../../workflows/core/limits';
import type { Message } from '../../../workflows/core/message';
import { InfraException } from '../../lifecycle/infra-exception';
import { base64Bytes, mediaLeftOut } from '../../providers/request/sendable-media';
import { requestLimitsOf } from '../../providers/request/request-limits';
import type { Provider } from '../../providers/provider';
import { mediaShape } from '../../stores/content/message-shape';
import type { Store } from '../../stores/store';
import type { ResolvedAgent } from '../agent-catalog';

function refuse(message: string): InfraException {
  return new InfraException({ code: 'config_invalid', message });
}

/** Why a route cannot send these files in one request; undefined if it can. */
function problemOnRoute(
  { provider: name, model, media }: ResolvedAgent['chain'][number],
  providers: ReadonlyMap<string, Pick<Provider, 'wire'>>,
  message: Extract<Message, { role: 'user' }>,
): string | undefined {
  const wire = providers.get(name)?.wire ?? 'anthropic';
  const request = { model, tools: [], messages: [message], ...(media && { media }) };
  const [first] = mediaLeftOut(request, wire);
  if (first !== undefined) return first;
  const limits = requestLimitsOf(wire, model);
  const files = message.blocks.flatMap((block) => (block.type === 'text' ? [] : [block]));
  const bytes = files.reduce((sum, file) => sum + base64Bytes(file.bytes), 0);
  if (bytes > limits.bytes)
    return `${bytes} bytes of base64 in all, and a request takes at most ${limits.bytes}`;
  const pages = files.reduce((sum, file) => sum + (file.type === 'file' ? file.pages : 0), 0);
  return pages > limits.pages
    ? `${pages} pages in all, and a request takes at most ${limits.pages}`
    : undefined;
}

/**
 * Checks the attachments of a run that begins.
 *
 * Errors: `config_invalid` that says for each route why it cannot send them; those of the store.
 */
export async function checkAttachments(
  store: Pick<Store, 'hasBlob' | 'label'>,
  { name, chain }: ResolvedAgent,
  providers: ReadonlyMap<string, Provider>,
  given: unknown,
): Promise<void> {
  const attachments = readAttachments(given);
  if (attachments === undefined)
    throw refuse(
      `The attachments must be what AgentClient.upload returned: at most ${attachmentsPerText} images and files.`,
    );
  for (const { ref, name: file = ref } of attachments)
    if (!(await store.hasBlob(ref)))
      throw refuse(
        `The store ${store.label} does not have the attachment "${file}". Upload it with a client that has the workers' store.`,
      );
  const untaken = untakenProblem(chain, attachments);
  if (untaken !== undefined) throw refuse(`Agent "${name}": ${untaken}`);
  const blocks = attachments.flatMap((each) => mediaShape.safeParse(each).data ?? []);
  if (blocks.length === 0) return;
  const problems = chain.map((route) => problemOnRoute(route, providers, { role: 'user', blocks }));
  if (problems.includes(undefined)) return;
  const said = chain.map(
    ({ provider, model }, at) => `${provider}/${model}: ${problems[at] ?? ''}`,
  );
  throw refuse(`Agent "${name}": no route can send the attachments: ${said.join('; ')}.`);
}
