import { type Config, variableOf } from '../../../config/schema.ts';
import type { ListenAddress } from '../../../lib/listen-address.ts';
import { addressText, dialled, dialProblem, listenProblem } from '../dial.ts';
import { type Finding, findingsOf } from '../finding.ts';
import type { Installation } from '../installation.ts';
import { whoListens } from '../who-listens.ts';

type ListenSetting = 'api_listen' | 'edge_listen' | 'edge_http_listen' | 'tunnel_listen';

interface Place {
  readonly setting: ListenSetting;
  readonly address: ListenAddress;
}

/** Whether all configured listeners accept connections. */
export async function checkListeners({ config, isLocal }: Installation): Promise<readonly Finding[]> {
  const found = findingsOf('listeners');
  if (!isLocal) {
    found.hint('the addresses of the edge are those of the machine of the server: run this there to have them tried');
    return found.list;
  }
  for (const { setting, address } of placesOf(config).filter((place) => place.setting !== 'api_listen')) {
    if (address.port === 0) {
      found.hint(`${setting} has the port 0: which one it became, only the line "ready" in the log of the server says`);
      continue;
    }
    const problem = await dialProblem(dialled(address));
    if (problem === null) found.ok(`${setting} ${addressText(address)} is open`);
    else {
      found.problem(
        `nothing can be reached at ${addressText(address)} (${setting}): ${problem}`,
        `give this the settings that the server was started with, such as ${variableOf(setting)}, or look into its log`,
      );
    }
  }
  return found.list;
}

/** Whether a stopped server could open its ports. */
export async function checkPorts({ config, isLocal }: Installation): Promise<readonly Finding[]> {
  const found = findingsOf('ports');
  if (!isLocal) return found.list;
  for (const { setting, address } of placesOf(config).filter((place) => place.address.port !== 0)) {
    const problem = await listenProblem(address);
    if (problem === null) found.ok(`${setting} ${addressText(address)} is free`);
    else if (problem === 'EADDRINUSE') {
      found.problem(
        `${(await whoListens(address.port)) ?? 'another program'} listens on ${addressText(address)} already`,
        `end it, or set another address with ${setting} (${variableOf(setting)})`,
      );
    } else {
      const why =
        problem === 'EACCES'
          ? 'this user may not'
          : problem === 'EADDRNOTAVAIL'
            ? 'it is not of this machine'
            : problem;
      found.problem(
        `${addressText(address)} cannot be listened on: ${why}`,
        `set another address with ${setting} (${variableOf(setting)})`,
      );
    }
  }
  return found.list;
}

function placesOf(config: Config): readonly Place[] {
  const settings: ListenSetting[] = ['api_listen'];
  if (config.roles.includes('edge')) settings.push('edge_listen', 'edge_http_listen');
  if (config.roles.includes('gateway')) settings.push('tunnel_listen');
  return settings.map((setting) => ({ setting, address: config[setting] }));
}
