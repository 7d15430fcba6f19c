import { resolve } from 'node:path';
import { CONFIG_VARIABLE } from '../../config/environment.ts';
import { type LoadedConfig, loadConfig } from '../../config/load.ts';
import type { CommandContext } from '../command.ts';
import { serviceVariables } from '../service/installed-server.ts';
import { planService, type ServicePlan } from '../service/service-plan.ts';
import type { ServicePorts } from '../service/service-ports.ts';

const FILE_OF_SERVICE = '/etc/postern/server.yaml';
const FILE_HERE = 'postern-server.yaml';

/** Where the settings of the server are, or will be. */
export interface SettingsPlace {
  /** The service that runs the server; null: it runs in this terminal. */
  readonly service: ServicePlan | null;
  /** The YAML file. */
  readonly file: string;
  /** Its text; null: there is none yet. */
  readonly text: string | null;
  /** Variables of the server. */
  readonly env: CommandContext['env'];
  /** Whether a server that runs already knows the file. */
  readonly isKnown: boolean;
  /** Nobody named the file: the current directory happens to have it, so it may be anybody's. */
  readonly isFound: boolean;
}

/** A file that this command makes, and removes again if it fails: no unit names it. */
export function isOwnNewFile({ service, text }: SettingsPlace): boolean {
  return service === null && text === null;
}

export function findSettings(
  flags: ReadonlyMap<string, string>,
  context: CommandContext,
  ports: ServicePorts,
): SettingsPlace {
  const given = flags.get('config');
  if (!ports.isRoot() || !ports.hasSystemd()) {
    const named = given ?? context.env[CONFIG_VARIABLE];
    const file = named ?? FILE_HERE;
    const text = ports.read(file);
    return {
      service: null,
      file,
      text,
      env: context.env,
      isKnown: true,
      isFound: named === undefined && text !== null,
    };
  }
  const service = planService({ role: 'server', flags: new Map(), command: ports.ownCommand(), env: context.env });
  const env = serviceVariables(service, ports, context.env);
  const named = env[CONFIG_VARIABLE];
  const file = given === undefined ? (named ?? FILE_OF_SERVICE) : resolve(given);
  return { service, file, text: ports.read(file), env, isKnown: named === file, isFound: false };
}

/** The settings that a server would have with this text in its file. */
export function loadSettings(
  place: SettingsPlace,
  text: string | null = place.text,
  given: ReadonlyMap<string, string> = new Map(),
): LoadedConfig {
  const flags = new Map([...given, ...(text === null ? [] : [['config', place.file] as const])]);
  const { [CONFIG_VARIABLE]: _, ...env } = place.env;
  return loadConfig({ flags, env, readText: () => text ?? '' });
}
