import type { Flag, FlagKind } from '../../../kit/flags.ts';
import { FIELD_RULES } from '../../../kit/net/field-rules.ts';
import { readProgramFile } from '../../../kit/program-files.ts';
import type { CommandField, CommandForm } from '../../../modules/agent-modules.ts';

/**
 * Forms of the modules that agents can request, read from a generated file: loading the modules would delay every
 * command. `npm run check` compares the file with the registry.
 */
export function moduleForms(): readonly CommandForm[] {
  forms ??= JSON.parse(readProgramFile('app/cli/agent/generated/module-forms.json')) as readonly CommandForm[];
  return forms;
}

let forms: readonly CommandForm[] | undefined;

type PublishedProto = 'http' | 'tcp' | 'tls';

const KINDS: Readonly<Record<CommandField['kind'], FlagKind>> = {
  text: 'text',
  list: 'list',
  boolean: 'switch',
  integer: 'number',
  number: 'number',
};

/** The flags of every module, or those of a group, that a tunnel of the protocol can have. */
export function moduleFlags(proto: PublishedProto, isMeant: IsMeant = () => true): readonly Flag[] {
  return moduleForms()
    .filter((form) => goesWith(form, proto))
    .flatMap((form) => flagsOf(form, isMeant));
}

type IsMeant = (group: CommandForm['group']) => boolean;

/**
 * Names of the flags whose values may be secrets that the agent sends to its server: a header may hold a credential.
 */
export function secretFlags(): readonly string[] {
  return moduleForms().flatMap(({ shape, fields }) =>
    fields.flatMap(({ name, flag, isSecret }) => {
      const isSent = isSecret === true || (shape === 'map' && name === 'add');
      return isSent && flag !== undefined ? [flag.name] : [];
    }),
  );
}

/** A tunnel of http is published on https, on http or on both. */
export function goesWith({ protocols }: Pick<CommandForm, 'protocols'>, proto: PublishedProto): boolean {
  return protocols.includes(proto) || (proto === 'http' && protocols.includes('https'));
}

/** The flag that represents the module in messages. */
export function leadingFlag({ flag, fields }: CommandForm): string {
  return `--${flag?.name ?? fields.find((field) => field.flag !== undefined)?.flag?.name ?? ''}`;
}

function flagsOf({ flag, bare, fields, group }: CommandForm, isMeant: IsMeant): readonly Flag[] {
  const ofBare = group === 'provider' ? 'entry' : group;
  const switches = [...(isMeant(group) ? [flag] : []), ...(isMeant(ofBare) ? [bare?.flag] : [])];
  return [
    ...switches.flatMap((each): readonly Flag[] => (each === undefined ? [] : [{ ...each, kind: 'switch' }])),
    ...(isMeant(group) ? fields : []).flatMap((field) => flagOf(field) ?? []),
  ];
}

function flagOf({ flag, kind, isCertificateFile, isRepeated, isSecret }: CommandField): Flag | null {
  if (flag === undefined) return null;
  const isFile = isCertificateFile === true;
  return {
    ...flag,
    // A file name may contain a comma.
    kind: isFile || isRepeated === true ? 'repeated' : KINDS[kind],
    ...(isFile && { isFile }),
    ...(isSecret && { isSecret }),
  };
}

/** A module as the user requests it: the fields of the bind message, with file names instead of certificates. */
export type ModuleConfig = Readonly<Record<string, FieldValue>>;
export type FieldValue = string | number | boolean | readonly string[];
/** By the module's name. */
export type ModuleConfigs = Readonly<Record<string, ModuleConfig>>;

type Fits = (text: string) => string | null;

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
export function requestedConfig(
  form: CommandForm,
  values: ReadonlyMap<string, FieldValue | null>,
): ModuleConfig | null {
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
