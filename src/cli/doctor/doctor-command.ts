import { type Finding, findingsOf } from '../../checks/check.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { PosternError } from '../../lib/errors.ts';
import { isOn, type ParsedFlags } from '../../lib/flags.ts';
import { clientVariable } from '../api/client-variables.ts';
import { localAnswer, trustRootCa } from '../api/connection.ts';
import { terminalWidth } from '../api/terminal-width.ts';
import { createTextSource } from '../api/text-source.ts';
import type { Command, CommandContext } from '../command.ts';
import { type CommandSyntax, type FlagGroup, INVALID_USAGE, SETTINGS_EXIT_CODE } from '../command-syntax.ts';
import { sayWhileSlow } from '../output/say-while-slow.ts';
import { printJson } from '../output/structured-text.ts';
import { parseCommand } from '../parse-command.ts';
import { exitCodeOf } from '../problem-text.ts';
import { serverSettings } from '../server-settings.ts';
import { settingsGroup } from '../settings-group.ts';
import { API_KEY_FILE, API_URL, ROOT_CA, switchFlag } from '../shared-flags.ts';
import { apiUrlOf } from './api-url-of.ts';
import type { DoctorPorts } from './doctor-ports.ts';
import { examine } from './examine.ts';
import { countByLevel, jsonReport, textReport } from './report.ts';

const SYNTAX: CommandSyntax = {
  name: 'doctor',
  about:
    "Checks an installation and reports each problem with its remedy. It examines settings, the data directory, the API and its key, listeners, certificates and authorities, DNS providers, routes and upstreams. A route is reported if it rejects all traffic, has no backend, admits anyone, or leads to the API and console of the server without a login. It changes nothing. If no server responds, it runs the checks that need none. Run it on the machine of the server, as the server's user and with the server's settings.",
  flags: [
    switchFlag('json', 'Print one JSON object: ok, counts by level, findings with level, check, message and advice.'),
    { ...API_URL, default: 'derived from api_listen, such as http://127.0.0.1:7080' },
    API_KEY_FILE,
    ROOT_CA,
  ],
  groups: [settingsOfServer()],
  examples: ['sudo postern doctor', 'postern doctor --data-dir postern-data --json'],
  exitCodes: {
    0: 'no problems (warnings and hints are allowed)',
    1: 'problems found',
    2: INVALID_USAGE,
    ...SETTINGS_EXIT_CODE,
  },
};

/** Other users of the machine can read flags: those for secrets are left out. */
function settingsOfServer(): FlagGroup {
  const group = settingsGroup('to find the installation');
  const flags = group.flags.filter(({ name }) => !['api-url', 'api-key', 'authtoken', 'secret-key'].includes(name));
  return { ...group, flags };
}

export function createDoctorCommand(ports: DoctorPorts): Command {
  return {
    syntax: SYNTAX,
    run: async (args, context) => {
      const parsed = parseCommand(SYNTAX, args);
      const { findings, exitCode } = await diagnosis(parsed, context, ports);
      if (isOn(parsed, 'json')) printJson(jsonReport(findings), context);
      else for (const line of textReport(findings, terminalWidth(context))) context.print(line);
      return exitCode;
    },
  };
}

interface Diagnosis {
  readonly findings: readonly Finding[];
  readonly exitCode: number;
}

async function diagnosis(parsed: ParsedFlags, context: CommandContext, ports: DoctorPorts): Promise<Diagnosis> {
  const settings = await loaded(parsed.flags, context);
  if (!('config' in settings)) return settings;
  const { config } = settings;
  const source = createTextSource();
  await trustRootCa(parsed, source);
  let part = 'this machine';
  const examination = {
    ...{ config, url: await urlOf(settings, context), flags: parsed.flags, context, source, ports },
    isUnset: (name: string) => settings.sources[name] === 'default',
    onPart: (name: string) => {
      part = name;
    },
  };
  const findings = await sayWhileSlow(
    context,
    () => `checking ${part}`,
    () => examine(examination),
  );
  return { findings, exitCode: countByLevel(findings).problem === 0 ? 0 : 1 };
}

/** A server of this data directory may have got its address by a flag, which its other commands find too. */
async function urlOf(settings: LoadedConfig, context: CommandContext): Promise<string | null> {
  const { config, sources } = settings;
  const url = apiUrlOf(settings);
  const isNamed = config.api_url !== null || (sources.api_listen !== 'default' && config.api_listen.port !== 0);
  if (isNamed) return url;
  const { sessions } = await localAnswer({ ...context, env: { ...context.env, POSTERN_DATA_DIR: config.data_dir } });
  const [only, ...others] = sessions;
  return only === undefined || others.length > 0 ? url : only.url;
}

/** A server cannot start with invalid settings, and no other check works without them. */
async function loaded(flags: ReadonlyMap<string, string>, context: CommandContext): Promise<LoadedConfig | Diagnosis> {
  const url = clientVariable('POSTERN_CLI_API_URL', context);
  const named = url === null ? flags : new Map([['api-url', url.value], ...flags]);
  try {
    const settings = await serverSettings(named, context);
    for (const warning of settings.warnings) context.warn(`postern: warning: ${warning}`);
    return settings;
  } catch (error) {
    if (!(error instanceof PosternError)) throw error;
    const found = findingsOf('settings');
    found.problem(error.message, 'correct it; "postern server --print-config" shows the effective settings');
    return { findings: found.list, exitCode: exitCodeOf(error) };
  }
}
