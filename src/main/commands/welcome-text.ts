import { basename, join, relative, resolve } from 'node:path';
import { isSea } from 'node:sea';
import type { SignInLink } from '../../cli/open/sign-in-link.ts';
import { formatListenAddress, isWildcardHost } from '../../lib/net/listen-address.ts';
import type { RunningServer } from '../running-server.ts';
import { programVersion } from '../version.ts';

/** Where commands look for a server by default. */
const DEFAULTS = { baseUrl: 'http://127.0.0.1:7080', serverAddr: '127.0.0.1:7444', dataDir: 'postern-data' };

interface Welcomed extends Pick<RunningServer, 'addresses' | 'baseUrl' | 'bootstrapped'> {
  /** Logs a browser in to the console, once. */
  readonly signInLink: SignInLink | null;
}

/** For the person who typed `npm start`: the addresses, the links to follow, what to type next. */
export function welcomeText(server: Welcomed, dataDir: string): string {
  const { baseUrl, bootstrapped, addresses } = server;
  const { apiKey, authtoken, administratorLink } = bootstrapped;
  const rows = [`  API         ${baseUrl}`, `  Docs        ${baseUrl}/docs`, `  Console     ${baseUrl}/console`];
  if (apiKey !== null) rows.push(`  API key     in ${join(dataDir, 'first-api-key')}`);
  if (authtoken !== null) rows.push(`  Agent token in ${join(dataDir, 'first-authtoken')}`);
  if (apiKey !== null || authtoken !== null)
    rows.push('', '  Commands in this folder find the key and the token. Delete the files when you have other keys.');
  if (server.signInLink !== null)
    rows.push('', '  This link logs you in to the console, once, within ten minutes:', `  ${server.signInLink.url}`);
  if (server.signInLink !== null && server.signInLink.code !== null)
    rows.push(`  Its page asks for this code: ${server.signInLink.code}`);
  if (administratorLink !== null)
    rows.push('', '  Become the first administrator with this link, once, within 24 hours:', `  ${administratorLink}`);
  const variables = [
    ...(baseUrl === DEFAULTS.baseUrl ? [] : [`POSTERN_CLI_API_URL=${baseUrl}`]),
    ...(isDefaultFolder(dataDir) ? [] : [`POSTERN_DATA_DIR=${resolve(dataDir)}`]),
  ];
  return [
    '',
    `  Postern ${programVersion()} is ready.`,
    '',
    ...rows,
    '',
    addresses.edge === undefined
      ? '  Next, in another terminal:'
      : '  Next, in another terminal, serve a host from port 3000 of this machine:',
    '',
    ...exported(variables),
    addresses.edge === undefined
      ? `  ${ownCommand()} api --help`
      : `  ${ownCommand()} edge app.localhost:${addresses.edge.port} --to 3000`,
    ...consoleLink(server),
    ...firstTunnel(server, dataDir),
    '',
  ].join('\n');
}

/** Without the first API key at hand, and unless the link for the first administrator stands above. */
function consoleLink({ signInLink, bootstrapped }: Welcomed): readonly string[] {
  if (signInLink !== null || bootstrapped.administratorLink !== null) return [];
  return ['', '  Or log in to the console:', '', `  ${ownCommand()} open`];
}

function firstTunnel({ addresses: { tunnel } }: Welcomed, dataDir: string): readonly string[] {
  if (tunnel === undefined) return [];
  const serverAddr = formatListenAddress({ ...tunnel, host: isWildcardHost(tunnel.host) ? '127.0.0.1' : tunnel.host });
  const variables = [
    ...(serverAddr === DEFAULTS.serverAddr ? [] : [`POSTERN_SERVER_ADDR=${serverAddr}`]),
    ...(isDefaultFolder(dataDir) ? [] : [`POSTERN_DATA_DIR=${resolve(dataDir)}`]),
  ];
  return [
    '',
    '  Or expose the service on port 3000 through a tunnel:',
    '',
    ...exported(variables),
    `  ${ownCommand()} http 3000`,
  ];
}

function exported(variables: readonly string[]): readonly string[] {
  return variables.length === 0 ? [] : [`  export ${variables.join(' ')}`];
}

function isDefaultFolder(dataDir: string): boolean {
  return resolve(dataDir) === resolve(DEFAULTS.dataDir);
}

/** How to run this program again from this directory. */
function ownCommand(): string {
  if (isSea()) return process.argv0;
  const [, program = ''] = process.argv;
  return basename(program) === 'postern.mjs' ? `node ${relative(process.cwd(), program)}` : 'postern';
}
