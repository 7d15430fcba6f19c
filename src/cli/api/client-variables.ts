import type { CommandContext } from '../command.ts';

/**
 * Variables of commands. `POSTERN_API_URL` and `POSTERN_API_KEY` are settings of the server with another meaning: the URL that its
 * clients see, and its first key. A shell in which commands work must not configure a server that is started in it.
 */
export type ClientVariable = 'POSTERN_CLI_API_URL' | 'POSTERN_CLI_API_KEY';

export interface GivenVariable {
  readonly name: string;
  readonly value: string;
}

export function clientVariable(name: ClientVariable, { env }: Pick<CommandContext, 'env'>): GivenVariable | null {
  return givenVariable(name, env);
}

/** The first key of a server on this machine, in the environment of that server, such as a container. */
export function serverKeyVariable({ env }: Pick<CommandContext, 'env'>): GivenVariable | null {
  return givenVariable('POSTERN_API_KEY', env);
}

function givenVariable(name: string, env: CommandContext['env']): GivenVariable | null {
  const value = env[name];
  return value === undefined || value === '' ? null : { name, value };
}
