import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import { AgentFile } from '../agent-file.ts';
import { type ImportReport, isUnset, textFor } from '../import-report.ts';
import { parseTomlInput } from '../parse-input.ts';
import type { ImportInput } from '../read-input.ts';
import { addProxy, hostsOf } from './convert-proxy.ts';
import { isIni, readIni } from './read-ini.ts';

const NO_SETTING = "Postern's agent has no such setting";
const WHY: Readonly<Record<string, string>> = {
  serverAddr: 'the address of frps: write the address of your Postern server to server_addr',
  serverPort: 'the address of frps: write the address of your Postern server to server_addr',
  auth: 'a secret of frps: use a token of Postern',
  token: 'a secret of frps: use a token of Postern',
  includes: 'other files are not read, and may protect the hosts of this one: write their proxies into one file',
  start: 'name the tunnels in the command instead: postern start NAME…',
};

/** frpc.toml, or the older frpc.ini. */
export async function importFrp(input: ImportInput, report: ImportReport): Promise<AgentFile> {
  const { proxies, visitors, ...settings } = isIni(input.text) ? readIni(input) : parseTomlInput(input);
  const file = new AgentFile(report);
  for (const [name, value] of Object.entries(settings) as [string, JsonValue][]) {
    report.dropFields([name], value, textFor(WHY, name, NO_SETTING));
  }
  // They may have other proxies of the same hosts, with a password for some paths.
  if (!isUnset(settings['includes'])) file.close(['?'], ['includes']);
  const isStarted = startedProxies(settings['start']);
  const items = objectsIn('proxies', proxies, report);
  if (Array.isArray(proxies) && items.length < proxies.length) file.close(['?'], ['proxies']);
  const byName = Map.groupBy(items, ({ name }) => name);
  for (const [index, proxy] of items.entries()) {
    const { name } = proxy;
    const place = ['proxies', String(name as string)];
    if (!isStarted(name)) report.drop(place, 'not written: frpc does not start it');
    else if (name === undefined || byName.get(name)?.length === 1) addProxy(proxy, index, file, report);
    else {
      report.drop(place, 'not written: frpc starts one proxy of this name, or none');
      file.close(hostsOf(proxy), place);
    }
  }
  for (const { name, ...visitor } of objectsIn('visitors', visitors, report)) {
    report.dropFields(
      ['visitors', String(name as string)],
      visitor as JsonObject,
      'Postern has no visitors: publish the service with a tunnel of type tcp',
    );
  }
  return file;
}

/** `start` names the proxies that frpc publishes: without it, all. */
function startedProxies(start: JsonValue | undefined): (name: JsonValue | undefined) => boolean {
  if (isUnset(start)) return () => true;
  const names = typeof start === 'string' ? start.split(',').map((each) => each.trim()) : start;
  return (name) => Array.isArray(names) && names.includes(name);
}

function objectsIn(list: string, value: JsonValue | undefined, report: ImportReport): readonly JsonObject[] {
  if (isUnset(value)) return [];
  const items = Array.isArray(value) ? (value as readonly JsonValue[]) : [null];
  const objects = items.filter(isJsonObject);
  if (objects.length < items.length) report.drop([list], 'not written: it has an unexpected shape');
  return objects;
}
