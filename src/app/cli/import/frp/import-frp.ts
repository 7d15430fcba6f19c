import { isJsonObject, type JsonObject, type JsonValue } from '../../../../kit/json.ts';
import { AgentFile } from '../agent-file.ts';
import { type ImportReport, isUnset, textFor } from '../import-report.ts';
import { type ImportInput, inputError, parseTomlInput } from '../read-input.ts';
import { addProxy, hostsOf } from './convert-proxy.ts';

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
  // Included files may have other proxies of the same hosts, with a password for some paths.
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

/** Fields of the older form, and what they are called in TOML. */
const NAMES: Readonly<Record<string, string>> = {
  local_ip: 'localIP',
  local_port: 'localPort',
  remote_port: 'remotePort',
  custom_domains: 'customDomains',
  http_user: 'httpUser',
  http_pwd: 'httpPassword',
  host_header_rewrite: 'hostHeaderRewrite',
  server_addr: 'serverAddr',
  server_port: 'serverPort',
  sk: 'secretKey',
};
const LISTS = ['customDomains', 'locations'];
const NUMBERS = ['localPort', 'remotePort'];

/** Whether a file is in the older form: sections without quotes and without `[[proxies]]`. */
export function isIni(text: string): boolean {
  return /^\s*\[common\]\s*$/m.test(text);
}

/** The older form as the same object that TOML gives. Visitors have `role = visitor`. */
export function readIni({ name, text }: ImportInput): JsonObject {
  const sections = new Map<string, Record<string, JsonValue>>();
  let section: Record<string, JsonValue> | null = null;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#') || line.startsWith(';')) continue;
    const [, title] = /^\[(.+)\]$/.exec(line) ?? [];
    if (title !== undefined) {
      // A section "a.b" has the fields of "a" too.
      if (sections.has(title.replace(/\.[^.]*$/, '')) && title.includes('.'))
        throw inputError(name, index + 1, 'is a section inside another: write its fields out');
      section = sections.get(title) ?? {};
      sections.set(title, section);
      continue;
    }
    // frp accepts both "=" and ":". Quoted names and continued lines are rejected: they may hide a protection.
    const [, written, value = ''] = /^([A-Za-z][\w.-]*)\s*[=:]\s*(.*)$/.exec(line) ?? [];
    if (written === undefined || section === null || /^("{3}|`)|\\$/.test(value)) {
      throw inputError(name, index + 1, 'must be a section "[name]" or "field = value"');
    }
    const field = textFor(NAMES, written, written);
    section[field] = parsedValue(field, unquoted(value));
  }
  const { common = {}, ...others } = Object.fromEntries(sections);
  const all = Object.entries(others).map(([title, fields]): JsonObject => ({ name: title, type: 'tcp', ...fields }));
  const isVisitor = ({ role }: JsonObject): boolean => role === 'visitor';
  return { ...common, proxies: all.filter((each) => !isVisitor(each)), visitors: all.filter(isVisitor) };
}

/** frp drops quotes around a whole value. */
function unquoted(value: string): string {
  const [, , inner] = /^(["'])(.*)\1$/.exec(value) ?? [];
  return inner === undefined || inner.includes(value[0] as string) ? value : inner;
}

function parsedValue(field: string, text: string): JsonValue {
  if (LISTS.includes(field))
    return text
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== '');
  return NUMBERS.includes(field) && /^\d+$/.test(text) ? Number(text) : text;
}
