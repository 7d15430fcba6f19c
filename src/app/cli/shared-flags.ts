import { type Flag, isOn, type ParsedFlags, usage } from '../../kit/flags.ts';
import { type DurationRule, durationForm, durationMs, readDuration } from '../../kit/text/time.ts';
import type { CommandContext, FlagGroup } from './command.ts';

export const API_URL: Flag = {
  name: 'api-url',
  kind: 'text',
  hint: 'URL',
  description: 'Address of the API.',
  default: 'POSTERN_CLI_API_URL, then http://127.0.0.1:7080',
};

export const API_KEY_FILE: Flag = {
  name: 'api-key-file',
  kind: 'text',
  hint: 'FILE',
  isFile: true,
  description: 'File with the API key; - reads standard input.',
  default: 'POSTERN_CLI_API_KEY. Root and the user of a server need no key on its machine',
};

export const ROOT_CA: Flag = {
  name: 'root-ca',
  kind: 'text',
  hint: 'FILE',
  isFile: true,
  description: "PEM file with an additional CA to trust, such as the server's internal CA.",
};

/** Flags of every command that calls the API. */
export const CONNECTION: FlagGroup = { title: 'Connection', flags: [API_URL, API_KEY_FILE, ROOT_CA] };

export const MESSAGE: Flag = { name: 'message', kind: 'text', hint: 'TEXT', description: 'Message for the history.' };

/** A switch that is off without the flag. */
export function switchFlag(name: string, description: string): Flag {
  return { name, kind: 'switch', hint: '', description };
}

export function textFlag(name: string, hint: string, description: string, more: Partial<Flag> = {}): Flag {
  return { name, kind: 'text', hint, description, ...more };
}

export function fileFlag(name: string, description: string, more: Partial<Flag> = {}): Flag {
  return { name, kind: 'text', hint: 'FILE', isFile: true, description, ...more };
}

/** For commands that print times in tables. */
export const UTC = switchFlag('utc', 'Show times in UTC on a terminal, where they are local otherwise.');

export const YES = switchFlag('yes', 'Do not ask; required when there is no terminal.');

/** The value of a flag that takes a duration before now, or a time. */
export function timeFlag(flag: string, value: string): string {
  const ms = durationMs(value);
  if (ms !== null && ms <= Date.now()) return new Date(Date.now() - ms).toISOString();
  if (/^\d{4}-\d{2}-\d{2}T/.test(value)) return value;
  throw usage(`--${flag} takes a duration such as 30d or 1h30m, or a time such as 2026-11-01T00:00:00Z`);
}

/** The value of a flag that takes a duration, in the unit of the rule. */
export function durationFlag(flag: string, value: string, rule: DurationRule): number {
  const duration = readDuration(value, rule);
  if (duration !== undefined) return duration;
  throw usage(`--${flag} takes ${durationForm(rule)}; it is ${JSON.stringify(value.slice(0, 40))}`);
}

/** Whether the user says yes, or said so before with --yes. */
export async function isAgreed(
  parsed: Pick<ParsedFlags, 'flags'>,
  context: Pick<CommandContext, 'ask'>,
  question: string,
): Promise<boolean> {
  if (isOn(parsed, 'yes')) return true;
  return /^y(es)?$/i.test(((await context.ask?.(`${question} [y/N] `)) ?? '').trim());
}

export const CLAIM: Flag = {
  name: 'claim',
  kind: 'repeated',
  hint: 'NAME=VALUE',
  description: 'Claim of the person; several of one name are a list.',
};

/** Values by name: a name that is given several times has several. */
export function claimsOf({ values }: ParsedFlags): Readonly<Record<string, readonly string[]>> {
  const claims = new Map<string, string[]>();
  for (const written of values.get(CLAIM.name) ?? []) {
    // A name may be a URL with a query: the value is what follows the last sign.
    const sign = written.lastIndexOf('=');
    if (sign < 1) throw usage('--claim requires a name and a value: --claim groups=ops');
    const name = written.slice(0, sign);
    claims.set(name, [...(claims.get(name) ?? []), written.slice(sign + 1)]);
  }
  return Object.fromEntries(claims);
}

export const HEADER: Flag = {
  name: 'header',
  kind: 'repeated',
  hint: '"NAME: VALUE"',
  description: 'Header of the request.',
};

/** Values by name: a name that is given several times has several. */
export function headersOf({ values }: ParsedFlags): Readonly<Record<string, readonly string[]>> {
  const headers = new Map<string, string[]>();
  for (const written of values.get(HEADER.name) ?? []) {
    const colon = written.indexOf(':');
    if (colon < 1) throw usage('--header requires a name and a value: --header "accept: text/html"');
    const name = written.slice(0, colon).trim();
    headers.set(name, [...(headers.get(name) ?? []), written.slice(colon + 1).trim()]);
  }
  return Object.fromEntries(headers);
}
