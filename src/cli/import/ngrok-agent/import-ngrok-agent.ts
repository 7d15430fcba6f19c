import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import { AgentFile } from '../agent-file.ts';
import { type ImportReport, isUnset, textFor } from '../import-report.ts';
import { parseYamlInput } from '../parse-input.ts';
import { type ImportInput, inputError } from '../read-input.ts';
import { addEndpoint } from './convert-endpoint.ts';
import { addTunnel } from './convert-tunnel.ts';

/** Settings of the agent that are carried over; the rest is about the retired service. */
const CARRIED: Readonly<Record<string, string>> = {
  metadata: 'metadata',
  remote_management: 'remote_management',
  web_addr: 'inspect_addr',
};
const WHY: Readonly<Record<string, string>> = {
  authtoken: 'a token of the retired service: create one of your server',
  api_key: 'a key of the retired service',
  root_cas: 'write the CA of your server to root_cas, if it is not public',
  connect_cas: 'write the CA of your server to root_cas, if it is not public',
};
const NO_SETTING = "Postern's agent has no such setting";

/** ngrok.yml of version 2 (tunnels) and 3 (agent, endpoints, tunnels). */
export async function importNgrokAgent(input: ImportInput, report: ImportReport): Promise<AgentFile> {
  const { version, agent, tunnels, endpoints, ...top } = parseYamlInput(input);
  if (![undefined, 2, 3, '2', '3'].includes(version as string)) {
    throw inputError(input.name, null, 'has an unknown version: this import reads the versions 2 and 3');
  }
  const file = new AgentFile(report);
  const leaveOut = (place: readonly string[], why: string): void => {
    report.drop(place, why);
    // It may protect any host of the file.
    file.close(['?'], place);
  };
  readSettings({ ...top, ...(isJsonObject(agent) && agent) }, isJsonObject(agent) ? ['agent'] : [], file, report);
  for (const [name, tunnel] of Object.entries(isJsonObject(tunnels) ? tunnels : {})) {
    const place = ['tunnels', name];
    if (isJsonObject(tunnel)) addTunnel(name, tunnel, { place, file, report });
    else leaveOut(place, 'is not a tunnel');
  }
  for (const [name, value, isExpected] of [
    ['agent', agent, isJsonObject(agent)],
    ['tunnels', tunnels, isJsonObject(tunnels)],
    ['endpoints', endpoints, Array.isArray(endpoints)],
  ] as const) {
    if (!isExpected && !isUnset(value)) leaveOut([name], 'not written: it has an unexpected shape');
  }
  const list = Array.isArray(endpoints) ? (endpoints as readonly JsonValue[]) : [];
  for (const [index, endpoint] of list.entries()) {
    if (isJsonObject(endpoint)) addEndpoint(endpoint, index, { file, report });
    else leaveOut(['endpoints', String(index)], 'is not an endpoint');
  }
  return file;
}

function readSettings(settings: JsonObject, place: readonly string[], file: AgentFile, report: ImportReport): void {
  for (const [name, value] of Object.entries(settings) as [string, JsonValue][]) {
    const target = Object.hasOwn(CARRIED, name) ? CARRIED[name] : undefined;
    if (target === undefined || isJsonObject(value))
      report.dropFields([...place, name], value, textFor(WHY, name, NO_SETTING));
    else file.set(target, value === 'false' ? false : value);
  }
}
