import { join, resolve } from 'node:path';
import { usage } from '../../lib/flags.ts';
import type { CommandContext } from '../command.ts';
import { isStartable } from './systemd-words.ts';
import type { Role, UnitPlan } from './unit-text.ts';

export interface ServicePlan extends UnitPlan {
  readonly unitFile: string;
  /** Prefix of every path, for installing into an image; empty for this machine. */
  readonly root: string;
}

export interface PlanInput {
  readonly role: Role;
  readonly flags: ReadonlyMap<string, string>;
  readonly command: readonly string[];
  readonly env: CommandContext['env'];
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
