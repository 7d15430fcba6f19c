import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { TObject, TSchema } from 'typebox';
import { type AgentModule, agentModules } from '../../src/modules/agent-modules.ts';
import { modules } from '../../src/modules/registry.ts';

const PAGE_PATH = 'docs/reference/tunnel-protocol.md';
const BEGIN = '<!-- Generated from src/modules by "npm run generate", to the end of the page. Do not edit. -->';

export const name = 'tunnel-modules';

interface Facts {
  readonly type?: string;
  readonly default?: unknown;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Facts;
  readonly properties?: Readonly<Record<string, Facts>>;
}

/** The end of the page of the tunnel protocol: what a `bind` message may contain about modules. */
export async function generate(): Promise<Map<string, string>> {
  const page = await readFile(fileURLToPath(new URL(`../../${PAGE_PATH}`, import.meta.url)), 'utf8');
  const at = page.indexOf(BEGIN);
  if (at === -1) throw new Error(`${PAGE_PATH} lacks the line ${BEGIN}`);
  return new Map([[PAGE_PATH, `${[page.slice(0, at) + BEGIN, ...agentModules(modules).map(section)].join('\n\n')}\n`]]);
}

function section({ name: module, config, agent, isLogin }: AgentModule): string {
  const { properties } = (agent.schema ?? config) as TObject;
  const login = isLogin === true ? ' A tunnel has one login.' : '';
  return [
    `### \`${module}\``,
    `For \`${agent.form.protocols.join('`, `')}\`.${login} [Notes](../../src/modules/${module}/README.md).`,
    [
      '| field | value | meaning |',
      '|---|---|---|',
      ...Object.entries(properties).flatMap(([field, schema]) => rows(field, schema as TSchema & Facts)),
    ].join('\n'),
  ].join('\n\n');
}

function rows(field: string, schema: Facts): readonly string[] {
  if (schema.description === undefined) throw new Error(`a field of a bind message has no description: ${field}`);
  const { type, default: unset, properties } = schema;
  // An object that may be absent has fields that may.
  const isOptional = unset !== undefined || type === 'object';
  const words = unset === undefined ? (isOptional ? '; optional' : '') : `; default \`${JSON.stringify(unset)}\``;
  const inner = Object.entries(properties ?? {}).flatMap(([name, each]) => rows(`${field}.${name}`, each));
  return [`| \`${field}\` | ${valueText(schema)}${words} | ${cell(schema.description)} |`, ...inner];
}

function valueText(schema: Facts): string {
  const { type, minimum, maximum, minLength, maxLength, minItems, maxItems, items } = schema;
  if (type === 'array')
    return `list of ${minItems ?? 0} to ${maxItems ?? 'any number of'} items, each ${valueText(items ?? {})}`;
  if (type === 'string') return `text of ${minLength ?? 0} to ${maxLength ?? 'any number of'} characters`;
  if (type === 'integer' || type === 'number') return `${type}, ${minimum ?? ''} to ${maximum ?? ''}`;
  return type ?? 'object';
}

function cell(text: string): string {
  return text
    .replace(/ Default: \S+$/, '')
    .replaceAll(/"([^" ,:]*)"/g, (_quoted, words: string) => (words === '' ? '`""`' : `\`${words}\``))
    .replaceAll('|', '\\|');
}
