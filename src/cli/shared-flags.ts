import type { Flag } from '../lib/flags.ts';
import type { FlagGroup } from './command-syntax.ts';

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
