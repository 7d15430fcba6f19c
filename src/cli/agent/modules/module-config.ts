import { FIELD_RULES } from '../../../lib/net/field-rules.ts';
import type { CommandField, CommandForm } from '../../../modules/command-form.ts';

/** A module as the user requests it: the fields of the bind message, with file names instead of certificates. */
export type ModuleConfig = Readonly<Record<string, FieldValue>>;
export type FieldValue = string | number | boolean | readonly string[];
/** By the module's name. */
export type ModuleConfigs = Readonly<Record<string, ModuleConfig>>;

export type Fits = (text: string) => string | null;

/** The commands' wording for a text that a rule cannot parse at all. */
const WORDING: Readonly<Record<NonNullable<CommandField['rule']>, string>> = {
  cidr: 'must be a CIDR range such as 10.0.0.0/8, or 192.0.2.7/32 for one address',
  credentials: 'must be written as NAME:PASSWORD',
};

/** The rule of a field's text or items, which the server applies too. */
export function ruleOf({ rule }: CommandField): Fits {
  return rule === undefined ? () => null : (text) => FIELD_RULES[rule](text, WORDING[rule]);
}

/**
 * Null for a module that was not requested. Fields without a value are omitted, unless the bind message always has
 * them.
 */
export function configOf(form: CommandForm, values: ReadonlyMap<string, FieldValue | null>): ModuleConfig | null {
  const isEmpty = (value: FieldValue | null | undefined): boolean =>
    value === null || value === undefined || (Array.isArray(value) && value.length === 0);
  if (form.shape !== 'switch' && [...values.values()].every(isEmpty)) return null;
  const entries = form.fields.map(({ name, isAlwaysSent }) => {
    const value = values.get(name) ?? null;
    return [name, value === null && isAlwaysSent ? [] : value] as const;
  });
  return Object.fromEntries(entries.filter((entry): entry is [string, FieldValue] => entry[1] !== null));
}

/** The key that requested the module: see `AgentForm.bare`. */
export function writtenKey({ key, bare }: CommandForm, config: ModuleConfig | undefined): string {
  return bare !== undefined && config !== undefined && Object.keys(config).length === 0 ? bare.key : key;
}
