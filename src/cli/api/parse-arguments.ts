import { type FlagToken, flagTokens, usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/near-match.ts';
import type { Flag } from './flag.ts';

export interface ParsedArguments {
  /** By the flag's name; a switch is `true` or `false`. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly positionals: readonly string[];
}

/**
 * Rejects unknown flags, and never repeats a value: it may be a secret behind a misspelled flag. `createOnly` lists the
 * flags that only the create of the resource takes.
 */
export function parseArguments(
  args: readonly string[],
  flags: readonly Flag[],
  createOnly: readonly string[] = [],
): ParsedArguments {
  const byName = new Map(flags.flatMap((flag) => [flag.name, ...(flag.aliases ?? [])].map((name) => [name, flag])));
  const forms = new Map(
    Array.from(byName, ([name, { kind }]) => [name, kind === 'switch' ? 'switch' : 'value'] as const),
  );
  const values = new Map<string, string[]>();
  const positionals: string[] = [];
  for (const token of flagTokens(args, forms)) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const flag = lookUp(token, byName, createOnly);
    const value = flag.kind === 'switch' ? switchValue(flag, token) : givenValue(flag, token);
    const earlier = values.get(flag.name) ?? [];
    if (earlier.length > 0 && !isRepeatable(flag)) throw usage(`--${flag.name} is given twice`);
    values.set(flag.name, [...earlier, value]);
  }
  return { values, positionals };
}

function isRepeatable({ kind }: Flag): boolean {
  return kind === 'list' || kind === 'map' || kind === 'repeated';
}

function lookUp({ name, rawName }: FlagToken, byName: ReadonlyMap<string, Flag>, createOnly: readonly string[]): Flag {
  const flag = rawName.startsWith('--') === name.length > 1 ? byName.get(name) : undefined;
  if (flag !== undefined) return flag;
  const negated = name.startsWith('no-') ? byName.get(name.slice('no-'.length)) : undefined;
  if (negated?.kind === 'switch') return negated;
  if (name === 'api-key') {
    throw usage(
      'an API key cannot be passed as a flag, because other users of the machine can read flags: use --api-key-file FILE or POSTERN_CLI_API_KEY',
    );
  }
  if (createOnly.includes(name)) {
    throw usage(
      `--${name} cannot be changed: only "create" accepts it. Create another resource with the new value, then delete this one`,
    );
  }
  throw usage(
    `unknown flag ${rawName}.${didYouMean(
      rawName,
      Array.from(byName.keys(), (each) => (each.length === 1 ? `-${each}` : `--${each}`)),
    )}`,
  );
}

function switchValue(flag: Flag, { name, value }: FlagToken): string {
  const isNegated = name !== flag.name && name.startsWith('no-');
  if (value === undefined) return String(!isNegated);
  if (isNegated || (value !== 'true' && value !== 'false')) {
    throw usage(`--${flag.name} takes no value: use --${flag.name} or --no-${flag.name}`);
  }
  return value;
}

function givenValue(flag: Flag, { value, inlineValue }: FlagToken): string {
  // `--ca-pem --json` lacks a value. A certificate starts with dashes too, but does not look like a flag.
  if (value === undefined || (!inlineValue && /^--?[a-z][\w.-]*(=|$)/i.test(value))) {
    throw usage(`--${flag.name} requires a value: --${flag.name} ${flag.hint}`);
  }
  return value;
}
