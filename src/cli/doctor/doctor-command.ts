import { existsSync } from 'node:fs';
import { type Finding, findingsOf } from '../../checks/finding.ts';
import { configFlags, type LoadedConfig, loadConfig } from '../../config/load.ts';
import { PosternError } from '../../lib/errors.ts';
import { type FlagForm, parseFlags, usage } from '../../lib/flags.ts';
import { formatListenAddress } from '../../lib/listen-address.ts';
import { clientVariable, OWN_URL } from '../api/client-variables.ts';
import { isOnThisMachine, trustRootCa } from '../api/connection.ts';
import { createTextSource } from '../api/text-source.ts';
import type { Command, CommandContext } from '../command.ts';
import { dialled } from './dial.ts';
import type { DoctorPorts } from './doctor-ports.ts';
import { examine } from './examine.ts';
import { countByLevel, jsonReport, textReport } from './report.ts';

const OWN_FLAGS: readonly (readonly [string, FlagForm])[] = [
  ['json', 'switch'],
  ['api-key-file', 'value'],
  ['root-ca', 'value'],
];
/** Other users of the machine can read flags. */
const SECRET_FLAGS = ['api-key', 'authtoken', 'secret-key'];
const FLAGS: ReadonlyMap<string, FlagForm> = new Map([
  ...[...configFlags].filter(([name]) => !SECRET_FLAGS.includes(name)),
  ...OWN_FLAGS,
]);

const HELP = `
Usage: postern doctor [--json] [--api-url URL] [FLAGS]

Checks an installation and reports each problem with its remedy: settings, data directory, API and key, listeners, the
certificates that hosts present, uploaded certificates and authorities, routes that reject all traffic, have no backend or
admit anyone, and upstreams. It changes nothing. If no server responds, it runs the checks that need none.

Run it on the machine of the server, as the server's user and with the server's settings: it takes the same flags, POSTERN_
variables and --config FILE. The API key comes from --api-key-file, POSTERN_CLI_API_KEY, POSTERN_API_KEY, or the file that the
first start wrote.

  --json           print one JSON object: ok, counts by level, findings with level, check, message and advice
  --api-url        address of the API (default: derived from api_listen, such as http://127.0.0.1:7080)
  --api-key-file   file with the API key; - reads standard input
  --root-ca        PEM file with the CA of the API's certificate
  --data-dir       data directory; all other flags of "postern server" work too, except those for secrets

Exit codes: 0 no problems (warnings and hints are allowed), 1 problems found, 2 invalid usage.
`;

export function createDoctorCommand(ports: DoctorPorts): Command {
  return {
    help: HELP,
    run: async (args, context) => {
      const { flags, positionals } = parseFlags(args, FLAGS);
      if (positionals.length > 0) throw usage('postern doctor takes no arguments, only flags');
      const findings = await findingsFor(flags, context, ports);
      if (flags.get('json') === 'true') context.print(jsonReport(findings));
      else for (const line of textReport(findings)) context.print(line);
      return countByLevel(findings).problem === 0 ? 0 : 1;
    },
  };
}

async function findingsFor(
  flags: ReadonlyMap<string, string>,
  context: CommandContext,
  ports: DoctorPorts,
): Promise<readonly Finding[]> {
  const settings = loaded(flags, context);
  if (!('config' in settings)) return settings;
  const { config } = settings;
  const source = createTextSource();
  const values = new Map([...flags].map(([name, value]) => [name, [value]] as const));
  await trustRootCa({ values, positionals: [] }, source);
  return examine({ config, url: apiUrlOf(settings), values, context, source, ports });
}

/** A server cannot start with invalid settings, and no other check works without them. */
function loaded(flags: ReadonlyMap<string, string>, context: CommandContext): LoadedConfig | readonly Finding[] {
  const url = clientVariable('API_URL', context);
  // The shared name is a setting that says what clients call the server; only the command's own name says what to dial.
  const named = url?.name === OWN_URL ? new Map([['api-url', url.value], ...flags]) : flags;
  try {
    const settings = loadConfig({ flags: named, env: context.env });
    for (const warning of settings.warnings) context.warn(`postern: warning: ${warning}`);
    return settings;
  } catch (error) {
    if (!(error instanceof PosternError)) throw error;
    const found = findingsOf('settings');
    found.problem(error.message, 'correct it; "postern server --print-config" shows the effective settings');
    return found.list;
  }
}

/**
 * Null: with port 0 only the server knows. A server that clients reach by another address is dialled directly where its
 * data directory is: from there, its machine can be inspected.
 */
function apiUrlOf({ config, sources }: LoadedConfig): string | null {
  const { api_url: url, api_listen: listen } = config;
  const isServersOwn =
    url !== null && !sources.api_url.startsWith('flag') && !isOnThisMachine(url) && existsSync(config.data_dir);
  if (listen.port === 0 || (url !== null && !isServersOwn)) return url;
  return `${config.api_tls_cert === null ? 'http' : 'https'}://${formatListenAddress(dialled(listen))}`;
}
