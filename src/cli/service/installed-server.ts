import { CONFIG_VARIABLE } from '../../config/environment.ts';
import type { CommandContext } from '../command.ts';
import { planService, type ServicePlan } from './service-plan.ts';
import type { ServicePorts } from './service-ports.ts';
import { readEnvironment } from './systemd-words.ts';

type Variables = Readonly<Record<string, string>>;

/** The server that `postern service install` or `postern up` made a service of this machine. */
export interface InstalledServer {
  /** Its variables. */
  readonly env: Variables;
  /** Where its settings are, for messages. */
  readonly files: readonly string[];
}

/** Null: there is none, or this user may not read its settings. */
export function findInstalledServer(ports: Pick<ServicePorts, 'exists' | 'read'>): InstalledServer | null {
  const service = planService({ role: 'server', flags: new Map(), command: ['postern'], env: {} });
  if (!ports.exists(service.unitFile)) return null;
  try {
    const env = serviceVariables(service, ports);
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
  { name, environmentFile }: Pick<ServicePlan, 'name' | 'environmentFile'>,
  ports: Pick<ServicePorts, 'read'>,
): Variables {
  const variables = Object.fromEntries(readEnvironment(ports.read(environmentFile) ?? ''));
  return { POSTERN_DATA_DIR: `/var/lib/${name}`, ...variables };
}

/** What a command says when it uses them. */
export function sayInstalled({ files }: InstalledServer, context: CommandContext): void {
  context.warn(`postern: using the settings of the installed service (${files.join(', ')})`);
}
