import { type Finding, findingsOf } from '../../../checks/check.ts';
import { type Config, variableOf } from '../../../config/schema.ts';
import type { ListenAddress } from '../../../lib/net/listen-address.ts';
import { addressText, dialled, dialProblem, listenProblem } from '../dial.ts';
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
    found.hint('the edge listens on the machine of the server: run this command there to check its addresses');
    return found.list;
  }
  for (const { setting, address } of placesOf(config).filter((place) => place.setting !== 'api_listen')) {
    if (address.port === 0) {
      found.hint(`${setting} has port 0: the "ready" line in the server's log names the actual port`);
      continue;
    }
    const problem = await dialProblem(dialled(address));
    if (problem === null) found.ok(`${setting} ${addressText(address)} is open`);
    else {
      found.problem(
        `cannot connect to ${addressText(address)} (${setting}): ${problem}`,
        `run this command with the server's settings, such as ${variableOf(setting)}, or check the server's log`,
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
        `${(await whoListens(address.port)) ?? 'another program'} already listens on ${addressText(address)}`,
        `stop it, or set another address with ${setting} (${variableOf(setting)})`,
      );
    } else {
      const why =
        problem === 'EACCES'
          ? 'permission denied'
          : problem === 'EADDRNOTAVAIL'
            ? 'not an address of this machine'
            : problem;
      found.problem(
        `cannot listen on ${addressText(address)}: ${why}`,
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
  return settings.flatMap((setting) => [config[setting]].flat().map((address) => ({ setting, address })));
}
