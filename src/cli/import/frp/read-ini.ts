import type { JsonObject, JsonValue } from '../../../lib/json.ts';
import { textFor } from '../import-report.ts';
import { type ImportInput, inputError } from '../read-input.ts';

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
