import type { LoadedConfig } from '../../config/load.ts';
import { settingOf } from '../../config/schema.ts';
import { installService } from '../service/install-service.ts';
import { upFailed } from './errors.ts';
import { type ShownSettings, untilRunning } from './reach-server.ts';
import { isOwnNewFile, isUnchosen, type Settings, type SettingsPlace } from './up-settings.ts';
import type { UpRequest } from './wanted-up.ts';

export interface StartedServer {
  /** Throws if the server has other settings than those that were written: it does not use the file. */
  requireSettings(settings: ShownSettings, changes: Settings): void;
  /** Ends a server that runs in this terminal, because the site could not be published. */
  stop(): void;
  /** Resolves to the exit code: at once for a server that runs by itself, otherwise when it ends. */
  untilEnd(): Promise<number>;
}

interface Start {
  readonly place: SettingsPlace;
  readonly loaded: LoadedConfig;
  readonly isRunning: boolean;
  readonly changes: Settings;
}

export async function startServer(request: UpRequest, start: Start): Promise<StartedServer> {
  const { place, loaded } = start;
  const byItself = { requireSettings: requireSettingsOf(place), stop: () => {}, untilEnd: () => Promise.resolve(0) };
  if (start.isRunning) {
    if (start.changes.size > 0) await restart(request, start);
    return byItself;
  }
  if (place.service !== null) {
    await install(request, start);
    await untilRunning({ loaded, ports: request.ports });
    return byItself;
  }
  return inTerminal(request, start);
}

async function inTerminal({ context, ports }: UpRequest, { place, loaded }: Start): Promise<StartedServer> {
  // A person who reads this terminal wants the address, not a line per request.
  const quiet = context.isTerminal && isUnchosen('log_level', loaded) ? ['--log-level', 'warn'] : [];
  const server = ports.serve(['--config', place.file, ...quiet], { ...context, isTerminal: false });
  try {
    await untilRunning({ loaded, ports }, server.ended);
  } catch (error) {
    server.stop();
    throw error;
  }
  return {
    requireSettings: requireSettingsOf(place),
    stop: () => server.stop(),
    untilEnd: () => {
      context.print('The server runs until you press Ctrl-C. As root on a machine with systemd, it becomes a service.');
      return server.ended;
    },
  };
}

function install({ typed, context, ports }: UpRequest, { place }: Start): Promise<number> {
  const { service: plan, file, isKnown } = place;
  if (plan === null) throw new Error('only a place of a service is installed');
  const settings = new Map(isKnown ? [] : [['config', file]]);
  return installService({ plan, settings, isStarted: true, typed, context, ports: ports.service });
}

/** Without failing a request, if the server knows the file. Otherwise its variables change, which needs a new process. */
async function restart(request: UpRequest, start: Start): Promise<void> {
  const { context, ports } = request;
  const { place, loaded } = start;
  const written = isOwnNewFile(place)
    ? 'Restart it where it was started, and run this command again'
    : `The settings are in ${place.file}, and apply when the server is restarted`;
  if (place.service !== null && !place.isKnown) {
    await install(request, start);
    const { isDone, output } = ports.service.systemctl(['restart', place.service.name]);
    if (!isDone) throw upFailed(`systemctl restart ${place.service.name} failed: ${output}. ${written}`);
  } else if ((await ports.restart(loaded.config.data_dir, context)) !== 0) {
    throw upFailed(`the server was not restarted. ${written}`);
  }
  await untilRunning({ loaded, ports });
}

function requireSettingsOf(place: SettingsPlace): StartedServer['requireSettings'] {
  const { file } = place;
  const advice = isOwnNewFile(place)
    ? 'Change it where the server has its settings, and run this command again'
    : `Start it with --config ${file}, or change the setting where the server has it, and run this command again`;
  return (settings, changes) => {
    for (const [name, value] of changes) {
      if (settingOf(name).secrecy !== 'public') continue;
      const found = settings.find((each) => each.name === name)?.value ?? null;
      if (JSON.stringify(found) === JSON.stringify(value)) continue;
      throw upFailed(`the server that runs does not use ${file}: its ${name} is ${JSON.stringify(found)}. ${advice}`);
    }
  };
}
