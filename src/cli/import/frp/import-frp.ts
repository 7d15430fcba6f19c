import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import { AgentFile } from '../agent-file.ts';
import type { ImportReport } from '../import-report.ts';
import { parseTomlInput } from '../parse-input.ts';
import type { ImportInput } from '../read-input.ts';
import { addProxy } from './convert-proxy.ts';
import { isIni, readIni } from './read-ini.ts';

const NO_SETTING = "Postern's agent has no such setting";
const WHY: Readonly<Record<string, string>> = {
  serverAddr: 'the address of frps: write the address of your Postern server to server_addr',
  serverPort: 'the address of frps: write the address of your Postern server to server_addr',
  auth: 'a secret of frps: use a token of Postern',
  token: 'a secret of frps: use a token of Postern',
  includes: 'other files are not read: import each of them',
  start: 'name the tunnels in the command instead: postern start NAME…',
};

/** frpc.toml, or the older frpc.ini. */
export async function importFrp(input: ImportInput, report: ImportReport): Promise<AgentFile> {
  const { proxies, visitors, ...settings } = isIni(input.text) ? readIni(input) : parseTomlInput(input);
  const file = new AgentFile(report);
  for (const [name, value] of Object.entries(settings) as [string, JsonValue][]) {
    report.dropFields([name], value, WHY[name] ?? NO_SETTING);
  }
  for (const [index, proxy] of objectsIn(proxies).entries()) addProxy(proxy, index, file, report);
  for (const { name, ...visitor } of objectsIn(visitors)) {
    report.dropFields(
      ['visitors', String(name as string)],
      visitor as JsonObject,
      'Postern has no visitors: publish the service with a tunnel of type tcp',
    );
  }
  return file;
}

function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]).filter(isJsonObject) : [];
}
