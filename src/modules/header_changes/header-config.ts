import type { Static, TSchema } from 'typebox';
import Type from 'typebox';
import type { JsonObject } from '../../kit/json.ts';
import { type SecretDestination, secret } from '../../kit/schema/annotations.ts';
import type { AcceptedForm, AgentAccess } from '../contract/agent-form.ts';
import { enabledField } from '../contract/module.ts';

/** The retired service had 5, and its successor 10. */
const MAX_HEADERS = 10;
export const MAX_NAME_LENGTH = 256;
const MAX_VALUE_LENGTH = 4_096;

const length = { maxLength: MAX_VALUE_LENGTH };

/** Headers with credentials: only callers that may read secrets see their values. Empty: not set. */
const SECRET_NAMES = ['authorization', 'cookie'] as const;
const secretValue = (sentTo: SecretDestination) => ({
  ...secret('readable', Type.String({ ...length, description: 'Value with credentials. "": not set.' }), sentTo),
  default: undefined,
});

/** The fields of both modules. */
export function headerConfig(what: 'request' | 'response') {
  // Visitors get those of responses.
  const value = secretValue(what === 'request' ? 'upstream' : 'nowhere');
  return Type.Object({
    enabled: enabledField,
    add: Type.Object({ authorization: value, cookie: value } satisfies Record<SecretName, TSchema>, {
      additionalProperties: Type.String(length),
      default: {},
      maxProperties: MAX_HEADERS,
      description: `Headers to add to the ${what}, after those of "remove" were removed: at most ${MAX_HEADERS}, with names in lower case. A header that is already there gets a second value. Values may contain variables, such as "\${conn.client_ip}"; "$\${" stands for "\${". The values of ${SECRET_NAMES.join(' and ')} are secrets.`,
    }),
    remove: Type.Array(Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH }), {
      default: [],
      maxItems: MAX_HEADERS,
      description: `Names of headers to remove from the ${what}, with all of their values: at most ${MAX_HEADERS}.`,
    }),
  });
}

type SecretName = (typeof SECRET_NAMES)[number];

export interface HeaderConfig {
  readonly enabled: boolean;
  /** Values by name. */
  readonly add: Readonly<Record<string, string>>;
  readonly remove: readonly string[];
}

export function isSecretName(name: string): boolean {
  return (SECRET_NAMES as readonly string[]).includes(name);
}

/** Names in lower case. */
export function withLowerCaseNames<Config extends HeaderConfig>(config: Config): Config {
  const add = Object.entries(config.add).map(([name, text]) => [name.toLowerCase(), text]);
  return { ...config, add: Object.fromEntries(add), remove: config.remove.map((name) => name.toLowerCase()) };
}

/** What other servers accept in one header, and more than any of them needs. */
export const MAX_SENT_LENGTH = 8_192;

/** Control characters would end the header, and a byte cannot hold others. */
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whether a header with this value arrives as it was meant: readers trim spaces. */
export function isSendable(value: string): boolean {
  return value.length <= MAX_SENT_LENGTH && SENDABLE.test(value) && value === value.trim();
}

/** The form of a module that changes the headers of requests or responses. */
export function headerAgent(what: 'request' | 'response', order: number): AgentAccess {
  const key = `${what}_header`;
  const flag = `${what}-header`;
  return {
    form: {
      order,
      key,
      shape: 'map',
      protocols: ['https', 'http'],
      fields: [
        {
          name: 'add',
          example: '["x-name: value"]',
          isRepeated: true,
          flag: { name: `${flag}-add`, hint: '"NAME: VALUE"', description: `Add this header to ${what}s.` },
        },
        {
          name: 'remove',
          example: '["x-name"]',
          flag: { name: `${flag}-remove`, hint: 'NAME', description: `Remove this header from ${what}s.` },
        },
      ],
      whenEmpty: `${key} has no headers: write add or remove, or remove it`,
      summary: ['add {add}', 'remove {remove}'],
    },
    schema: headerLinesSchema,
    accept: acceptHeaderLines,
  };
}

/** In the bind message: lines such as "x-name: value". */
const headerLinesSchema = Type.Object({
  add: Type.Array(Type.String({ maxLength: MAX_NAME_LENGTH + 2 + MAX_VALUE_LENGTH }), {
    default: [],
    maxItems: MAX_HEADERS,
    description: 'Headers to add, each as NAME: VALUE.',
  }),
  remove: Type.Array(Type.String({ maxLength: MAX_NAME_LENGTH }), {
    default: [],
    maxItems: MAX_HEADERS,
    description: 'Names of headers to remove.',
  }),
});

function acceptHeaderLines(form: JsonObject): AcceptedForm | { readonly problem: string } {
  // The server has decoded the form by its schema.
  const { add, remove } = form as Static<typeof headerLinesSchema>;
  const headers = new Map<string, string>();
  for (const line of add) {
    const at = line.indexOf(':');
    const name = line.slice(0, at).trim().toLowerCase();
    if (at < 1) return { problem: 'add: write each header as "name: value"' };
    if (headers.has(name)) return { problem: `add: has "${name.slice(0, 80)}" twice` };
    headers.set(name, line.slice(at + 1).trim());
  }
  const config = { enabled: true, add: Object.fromEntries(headers), remove };
  return { config: withLowerCaseNames(config), records: [] };
}
