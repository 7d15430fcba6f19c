import { parseArgs } from 'node:util';
import { errorTable } from './errors.ts';
import { didYouMean } from './text/near-match.ts';

/**
 * `text` is one value; `switch` is `--x` or `--no-x`; `repeated` may be given several times; `list` and `map` too, and
 * separate their items with commas; `object` and `json` are JSON.
 */
export type FlagKind = 'text' | 'number' | 'switch' | 'list' | 'map' | 'object' | 'json' | 'repeated';

/** A flag of a command. The parser, `--help`, completion and docs/reference/cli.md read the same rows. */
export interface Flag {
  /** Without dashes. */
  readonly name: string;
  /** One letter is a short form: `o` for `-o`. */
  readonly aliases?: readonly string[];
  readonly kind: FlagKind;
  /** Placeholder of the value in the help. */
  readonly hint: string;
  /** Sentences. */
  readonly description: string;
  /** Where the value comes from without the flag. */
  readonly default?: string | undefined;
  /** For a switch: without the flag it is on, so the help lists `--no-x`. */
  readonly isOnByDefault?: boolean;
  readonly isRequired?: boolean;
  readonly isSecret?: boolean;
  readonly choices?: readonly string[];
  /** The value is a file name. */
  readonly isFile?: boolean;
  /** Kinds of resources whose names complete the value in a shell. */
  readonly completedBy?: readonly string[];
}

export const flagErrors = errorTable({
  ERR_POSTERN_USAGE: {
    status: 400,
    explanation:
      'The command line has an unknown flag, a missing value or too many arguments. `--help` lists the flags.',
  },
});

export interface ParsedFlags {
  /** The value of each flag that was given, by its name; a switch is `true` or `false`. */
  readonly flags: ReadonlyMap<string, string>;
  /** The same, with every value of a flag that was repeated. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly positionals: readonly string[];
}

export interface FlagRules {
  /** The command whose `--help` lists the flags: `postern events tail`. */
  readonly command: string;
  /** The reason why a flag that others have is not one of this command; undefined for any other. */
  readonly refusal?: (name: string) => string | undefined;
}

/**
 * Parses `--name value`, `--name=value`, `--switch`, `--no-switch` and `-n value`. Rejects unknown flags by name, and
 * never repeats a value in a message: it may be a secret behind a misspelled flag.
 */
export function parseFlags(args: readonly string[], known: readonly Flag[], rules: FlagRules): ParsedFlags {
  const byName = new Map(known.flatMap((flag) => [flag.name, ...(flag.aliases ?? [])].map((name) => [name, flag])));
  const values = new Map<string, string[]>();
  const positionals: string[] = [];
  let before: Flag | null = null;
  for (const token of flagTokens(args, byName)) {
    // `--enabled false` would switch it on, and take the word for an argument.
    if (token.kind === 'positional' && before !== null && ANSWER.test(token.value)) throw notAValue(before);
    before = null;
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const flag = lookUp(token, byName, rules);
    const value = flag.kind === 'switch' ? switchValue(flag, token) : givenValue(flag, token);
    if (flag.kind === 'switch' && token.value === undefined) before = flag;
    if (value === null) continue;
    const earlier = values.get(flag.name) ?? [];
    if (earlier.length > 0 && !isRepeatable(flag)) throw usage(`--${flag.name} is given twice`);
    values.set(flag.name, [...earlier, value]);
  }
  const flags = new Map(Array.from(values, ([name, [value = '']]) => [name, value]));
  return { flags, values, positionals };
}

export function isOn({ flags }: Pick<ParsedFlags, 'flags'>, name: string): boolean {
  return flags.get(name) === 'true';
}

export function isRepeatable({ kind }: Pick<Flag, 'kind'>): boolean {
  return kind === 'list' || kind === 'map' || kind === 'repeated';
}

export function usage(message: string): Error {
  return flagErrors.create('ERR_POSTERN_USAGE', message);
}

/** Split by the runtime's parser. They include unknown flags. */
function flagTokens(args: readonly string[], known: ReadonlyMap<string, Flag>) {
  const options: Record<string, { type: 'string' | 'boolean' }> = {};
  for (const [name, { kind }] of known) options[name] = { type: kind === 'switch' ? 'boolean' : 'string' };
  return parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true }).tokens;
}

type FlagToken = Extract<ReturnType<typeof flagTokens>[number], { readonly kind: 'option' }>;

function lookUp({ name, rawName }: FlagToken, known: ReadonlyMap<string, Flag>, { command, refusal }: FlagRules): Flag {
  const flag = known.get(name);
  if (flag !== undefined) return flag;
  const negated = name.startsWith('no-') ? known.get(name.slice('no-'.length)) : undefined;
  if (negated?.kind === 'switch') return negated;
  const reason = refusal?.(name);
  if (reason !== undefined) throw usage(reason);
  const names = Array.from(known.keys(), dashed);
  throw usage(`unknown flag ${rawName}.${didYouMean(rawName, names)} ${command} --help lists the flags`);
}

const ANSWER = /^(?:true|false|yes|no|on|off|maybe)$/i;

function notAValue({ name }: Flag): Error {
  return usage(`--${name} is on or off and takes no value: use --${name} or --no-${name}`);
}

/** Null for an empty value, which means unset, as in every source of settings. */
function switchValue(flag: Flag, { name, value }: FlagToken): string | null {
  const isNegated = name !== flag.name && name.startsWith('no-');
  if (value === undefined) return String(!isNegated);
  if (value === '' && !isNegated) return null;
  if (isNegated || (value !== 'true' && value !== 'false')) {
    throw notAValue(flag);
  }
  return value;
}

function givenValue(flag: Flag, { name, value, inlineValue }: FlagToken): string {
  // `--ca-pem --json` lacks a value. A certificate starts with dashes too, but does not look like a flag.
  if (value === undefined || (!inlineValue && /^--?[a-z][\w.-]*(=|$)/i.test(value))) {
    throw usage(`${dashed(name)} requires a value: ${dashed(name)} ${flag.hint || 'VALUE'}`);
  }
  return value;
}

function dashed(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`;
}
