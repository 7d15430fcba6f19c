import { didYouMean } from '../lib/text/near-match.ts';
import { isUnset } from './decode.ts';
import { configErrors } from './errors.ts';
import { settingNames, variableOf } from './schema.ts';

export const CONFIG_VARIABLE = 'POSTERN_CONFIG';

/** Variables with our prefix that are not settings: the command line, the launcher and the tests read them. */
const OTHER_VARIABLES = [
  CONFIG_VARIABLE,
  'POSTERN_BACKUP_PASSPHRASE',
  'POSTERN_CLI_API_KEY',
  'POSTERN_CLI_API_URL',
  'POSTERN_HANDOVER',
  'POSTERN_LAUNCHER',
  'POSTERN_SERVER_ADDR',
];
const TEST_PREFIX = 'POSTERN_TEST_';

/**
 * Kubernetes injects these for every Service whose name starts with "postern" (the service environment variables and
 * the Docker link variables of its documentation), into every pod of the namespace. They are not typos.
 */
const SERVICE_VARIABLE =
  /^POSTERN_(?:[A-Z0-9_]+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)$/;

/**
 * Throws for an unknown `POSTERN_` variable: a misspelled one would silently have no effect.
 * Returns warnings for those that Kubernetes injects.
 */
export function checkVariables(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const known = [...settingNames.map(variableOf), ...OTHER_VARIABLES];
  const given = Object.keys(env).filter((name) => name.startsWith('POSTERN_') && !isUnset(env[name]));
  const unknown = given.filter((name) => !name.startsWith(TEST_PREFIX) && !known.includes(name));
  const typed = unknown.find((name) => !SERVICE_VARIABLE.test(name));
  if (typed !== undefined) {
    const message = `unknown environment variable ${typed}.${didYouMean(typed, known)}`;
    throw configErrors.create('ERR_POSTERN_CONFIG_UNKNOWN', message);
  }
  if (unknown.length === 0) return [];
  return [
    `ignoring variables that look like Kubernetes service variables: ${unknown.join(', ')}. Set enableServiceLinks: false in the pod spec to remove them`,
  ];
}
