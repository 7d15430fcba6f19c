import { dirname, join, resolve } from 'node:path';
import { usage } from '../../../kit/flags.ts';
import { CONFIG_VARIABLE } from '../../settings/environment.ts';
import type { ServicePorts } from './service-ports.ts';
import { isOwnUnit, isStartable, type Role, readEnvironment, type UnitPlan } from './unit-text.ts';

/** Variables of the command's process. */
type Environment = Readonly<Record<string, string | undefined>>;
type Variables = Readonly<Record<string, string>>;

/** The server that `postern service install` or `postern up` made a service of this machine. */
export interface InstalledServer {
  /** Variables of the server. */
  readonly env: Variables;
  /** Where its settings are, for messages. */
  readonly files: readonly string[];
}

type MachinePorts = Pick<ServicePorts, 'exists' | 'read' | 'list'>;

/**
 * That of the machine, otherwise one of this user. Null: there is none, or this user may not read its settings. Throws
 * if there are several and none has the usual name.
 */
export function findInstalledServer(ports: MachinePorts, env: Environment): InstalledServer | null {
  const places = [[], ...(env['HOME'] || env['XDG_CONFIG_HOME'] ? [[['user', 'true'] as const]] : [])];
  for (const place of places) {
    const planned = (name?: string): ServicePlan => {
      const flags = new Map([...place, ...(name === undefined ? [] : [['name', name] as const])]);
      return planService({ role: 'server', flags, command: ['postern'], env });
    };
    const usual = planned();
    const names = ports.exists(usual.unitFile) ? [usual.name] : otherNames(dirname(usual.unitFile), ports);
    const found = names.flatMap((name) => readSettings(planned(name), ports, env) ?? []);
    if (found.length > 1)
      throw usage(
        `several servers are services of this machine (${names.join(', ')}): set POSTERN_CLI_API_URL to the address of one`,
      );
    if (found[0] !== undefined) return found[0];
  }
  return null;
}

/** Servers that were installed with --name. */
function otherNames(folder: string, ports: MachinePorts): readonly string[] {
  return ports.list(folder).flatMap((file) => {
    const [, name = ''] = /^([a-zA-Z0-9][\w-]{0,63})\.service$/.exec(file) ?? [];
    return name !== '' && isOwnUnit(ports.read(join(folder, file)) ?? '') ? [name] : [];
  });
}

function readSettings(service: ServicePlan, ports: MachinePorts, own: Environment): InstalledServer | null {
  try {
    const env = serviceVariables(service, ports, own);
    const file = env[CONFIG_VARIABLE];
    return { env, files: [service.environmentFile, ...(file === undefined ? [] : [file])] };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EACCES' || code === 'EPERM') return null;
    throw error;
  }
}

/** As in the unit, where the environment file comes later and wins. */
export function serviceVariables(
  service: Pick<ServicePlan, 'name' | 'environmentFile' | 'isOfUser'>,
  ports: Pick<ServicePorts, 'exists' | 'read'>,
  env: Environment,
): Variables {
  const variables = Object.fromEntries(readEnvironment(ports.read(service.environmentFile) ?? ''));
  return { POSTERN_DATA_DIR: join(stateRoot(service, ports, env), service.name), ...variables };
}

/** What the unit calls %S. Before version 254, systemd kept the state of a user beside the settings. */
function stateRoot(
  { name, isOfUser, environmentFile }: Pick<ServicePlan, 'name' | 'environmentFile' | 'isOfUser'>,
  ports: Pick<ServicePorts, 'exists'>,
  env: Environment,
): string {
  if (!isOfUser) return '/var/lib';
  const newer = env['XDG_STATE_HOME'] || join(env['HOME'] ?? '', '.local', 'state');
  return ports.exists(join(newer, name)) ? newer : dirname(dirname(environmentFile));
}

/** What a command says when it uses them. */
export function sayInstalled({ files }: InstalledServer, context: { warn(line: string): void }): void {
  context.warn(`postern: using the settings of the installed service (${files.join(', ')})`);
}

export interface ServicePlan extends UnitPlan {
  readonly unitFile: string;
  /** Prefix of every path, for installing into an image; empty for this machine. */
  readonly root: string;
}

export interface PlanInput {
  readonly role: Role;
  readonly flags: ReadonlyMap<string, string>;
  readonly command: readonly string[];
  readonly env: Environment;
  /** Absent: there is none. */
  readonly dockerGroup?: string | null;
}

/** Paths and names of a service, from the command line. */
export function planService({ role, flags, command, env, dockerGroup = null }: PlanInput): ServicePlan {
  const isOfUser = flags.get('user') === 'true';
  const name = flags.get('name') ?? (role === 'server' ? 'postern' : 'postern-agent');
  if (!/^[a-zA-Z0-9][\w-]{0,63}$/.test(name))
    throw usage(`--name ${JSON.stringify(name)}: use letters, digits, "-" and "_"`);
  const runAs = flags.get('run-as') ?? null;
  if (runAs !== null && !/^[a-z_][a-z0-9_-]{0,31}$/i.test(runAs))
    throw usage(`--run-as ${JSON.stringify(runAs)} is no user name`);
  if (isOfUser && runAs !== null)
    throw usage('--user and --run-as exclude each other: a service of your own runs as you');
  if (role === 'server' && flags.has('agent-config'))
    throw usage('--agent-config belongs to "postern service install agent"');
  const hasDocker = flags.get('docker') === 'true';
  if (role === 'server' && hasDocker) throw usage('--docker belongs to "postern service install agent"');
  if (!isStartable(command[0] ?? ''))
    throw usage(
      `systemd cannot start ${command[0]}: quotes, backslashes and control characters are not allowed in its path`,
    );
  const home = env['XDG_CONFIG_HOME'] || (env['HOME'] ? join(env['HOME'], '.config') : null);
  if (isOfUser && home === null) throw usage('--user requires HOME or XDG_CONFIG_HOME');
  const settings = isOfUser ? join(home ?? '', 'postern') : '/etc/postern';
  const units = isOfUser ? join(home ?? '', 'systemd', 'user') : '/etc/systemd/system';
  const root = flags.get('root') === undefined ? '' : resolve(flags.get('root') ?? '');
  return {
    role,
    name,
    command,
    isOfUser,
    runAs,
    environmentFile: join(settings, `${name}.env`),
    hasDocker,
    dockerGroup: hasDocker ? dockerGroup : null,
    agentConfig: resolve(flags.get('agent-config') ?? join(settings, 'agent.yaml')),
    unitFile: join(units, `${name}.service`),
    root,
  };
}
