import { basename, relative, resolve } from 'node:path';
import { isSea } from 'node:sea';
import { formatListenAddress, isWildcardHost } from '../../lib/net/listen-address.ts';
import type { RunningServer } from '../running-server.ts';
import { programVersion } from '../version.ts';

/** Where an agent looks for a server and its CA by default. */
const AGENT_DEFAULTS = { serverAddr: '127.0.0.1:7444', dataDir: 'postern-data' };

interface Welcomed extends Pick<RunningServer, 'addresses' | 'baseUrl' | 'bootstrapped'> {
  /** Signs a browser in to the console, once. */
  readonly signInLink: string | null;
}

/** For the person who typed `npm start`: the address, what to keep, what to type next. */
export function welcomeText(server: Welcomed, dataDir: string): string {
  const { baseUrl, bootstrapped, addresses } = server;
  const { apiKey, authtoken, administratorLink } = bootstrapped;
  const rows = [`  API         ${baseUrl}`, `  Docs        ${baseUrl}/docs`, `  Console     ${baseUrl}/console`];
  if (apiKey !== null) rows.push(`  API key     ${apiKey}`);
  if (authtoken !== null) rows.push(`  Authtoken   ${authtoken}`);
  if (apiKey !== null || authtoken !== null)
    rows.push('', '  The secrets are shown only once and stored as hashes: save them now.');
  if (server.signInLink !== null)
    rows.push('', '  This link signs you in to the console, once, within ten minutes:', `  ${server.signInLink}`);
  if (administratorLink !== null)
    rows.push('', '  Become the first administrator with this link, once, within 24 hours:', `  ${administratorLink}`);
  const key = apiKey ?? 'YOUR-API-KEY';
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
    `  export POSTERN_API_URL=${baseUrl} POSTERN_API_KEY=${key}`,
    addresses.edge === undefined
      ? `  ${ownCommand()} api --help`
      : `  ${ownCommand()} edge app.localhost:${addresses.edge.port} --to 3000`,
    ...firstTunnel(server, dataDir),
    '',
  ].join('\n');
}

function firstTunnel({ addresses: { tunnel }, bootstrapped }: Welcomed, dataDir: string): readonly string[] {
  if (tunnel === undefined) return [];
  const serverAddr = formatListenAddress({ ...tunnel, host: isWildcardHost(tunnel.host) ? '127.0.0.1' : tunnel.host });
  const variables = [
    `POSTERN_AUTHTOKEN=${bootstrapped.authtoken ?? 'YOUR-AUTHTOKEN'}`,
    ...(serverAddr === AGENT_DEFAULTS.serverAddr ? [] : [`POSTERN_SERVER_ADDR=${serverAddr}`]),
    ...(resolve(dataDir) === resolve(AGENT_DEFAULTS.dataDir) ? [] : [`POSTERN_DATA_DIR=${resolve(dataDir)}`]),
  ];
  return [
    '',
    '  Or expose the service on port 3000 through a tunnel:',
    '',
    `  export ${variables.join(' ')}`,
    `  ${ownCommand()} http 3000`,
  ];
}

/** How to run this program again from this directory. */
function ownCommand(): string {
  if (isSea()) return process.argv0;
  const [, program = ''] = process.argv;
  return basename(program) === 'postern.mjs' ? `node ${relative(process.cwd(), program)}` : 'postern';
}
