import type { Config } from '../../settings/schema.ts';
import type { CommandContext } from '../command.ts';

export interface ApiKey {
  readonly key: string;
  /** Where it came from, for messages. */
  readonly source: string;
  /** For a token that ends while a command runs. Null: there is no other one. */
  readonly renew?: () => Promise<readonly string[]>;
}

/** The key that the settings of a server give it; null: they name none. */
export function presetKey({ api_key: key }: Pick<Config, 'api_key'>): ApiKey | null {
  return key === null ? null : { key, source: 'the setting api_key' };
}

/**
 * Variables of commands. `POSTERN_API_URL` and `POSTERN_API_KEY` are settings of the server with another meaning: the
 * URL that its clients see, and its first key. A shell in which commands work must not configure a server that is
 * started in it.
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

/** What to do about a key that the API rejects. `source`: where it came from. */
export function keyAdvice(source: string): string {
  return `the key came from ${source}; set another with --api-key-file or POSTERN_CLI_API_KEY`;
}
