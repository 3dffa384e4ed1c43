/** `holdfast gateway-token`: makes a token of the gateway. */
import type { TokenRole } from '../../../server/http/access-tokens';
import { makeToken, parseTokens } from '../../../server/http/access-tokens';
import { defined } from '../../../workflows/core/json';
import { reasonOf, SetupError } from '../../setup-error';
import type { CommandContext, CommonOptions } from '../command-context';
import { print } from '../command-context';

/** Prints the token, which nobody keeps, and the entry with its hash. */
export function gatewayToken(
  context: CommandContext,
  name: string,
  { role, tenant, ...options }: CommonOptions & { role: TokenRole; tenant?: string },
): Promise<void> {
  const { token, entry } = makeToken({ name, role, ...defined({ tenant }) });
  try {
    parseTokens(JSON.stringify([entry]));
  } catch (thrown) {
    return Promise.reject(new SetupError(`No token was made: ${reasonOf(thrown)}.`));
  }
  print(context, options, { token, entry }, token);
  if (options.json !== true)
    context.output.note(
      `Above is the token, which is kept nowhere: give it to whoever uses it. Its entry, for the JSON list of --tokens or HOLDFAST_GATEWAY_TOKENS:\n${JSON.stringify(entry)}`,
    );
  return Promise.resolve();
}
