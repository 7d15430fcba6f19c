import { isLoopbackHost } from '../../lib/net/listen-address.ts';
import type { CommandContext } from '../command.ts';

export type ClientVariable = 'API_URL' | 'API_KEY';

export const OWN_URL = 'POSTERN_CLI_API_URL';

export interface GivenVariable {
  readonly name: string;
  readonly value: string;
}

/**
 * `POSTERN_API_URL` and `POSTERN_API_KEY` are also settings of the server with another meaning: the URL that clients
 * see, and the first key. So commands have their own names, which take precedence; the shared ones still work.
 */
export function clientVariable(variable: ClientVariable, context: CommandContext): GivenVariable | null {
  const own = given(`POSTERN_CLI_${variable}`, context.env);
  const shared = given(`POSTERN_${variable}`, context.env);
  if (own !== null && shared !== null && own.value !== shared.value && !isOfThisMachine(variable, own))
    context.warn(`postern: warning: ${own.name} and ${shared.name} differ: using ${own.name}`);
  return own ?? shared;
}

/** The URL of a server here naturally differs from the one that its visitors use. */
function isOfThisMachine(variable: ClientVariable, { value }: GivenVariable): boolean {
  return variable === 'API_URL' && URL.canParse(value) && isLoopbackHost(new URL(value).hostname);
}

function given(name: string, env: CommandContext['env']): GivenVariable | null {
  const value = env[name];
  return value === undefined || value === '' ? null : { name, value };
}
