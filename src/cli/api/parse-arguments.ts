import { usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/near-match.ts';
import type { Flag } from './flag.ts';

export interface ParsedArguments {
  /** By the flag's name; a switch is `true` or `false`. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly positionals: readonly string[];
}

/**
 * Rejects unknown flags, and never repeats a value: it may be a secret behind a misspelt flag. `createOnly` lists the
 * flags that only the create of the resource takes.
 */
export function parseArguments(
  args: readonly string[],
  flags: readonly Flag[],
  createOnly: readonly string[] = [],
): ParsedArguments {
  const byName = new Map(flags.flatMap((flag) => [flag.name, ...(flag.aliases ?? [])].map((name) => [name, flag])));
  const values = new Map<string, string[]>();
  const positionals: string[] = [];
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--') return { values, positionals: [...positionals, ...rest] };
    if (!arg.startsWith('-') || arg === '-') {
      positionals.push(arg);
      continue;
    }
    const { flag, name, inline } = lookUp(arg, byName, createOnly);
    const value = flag.kind === 'switch' ? switchValue(flag, name, inline) : (inline ?? nextValue(flag, rest));
    const earlier = values.get(flag.name) ?? [];
    if (earlier.length > 0 && !isRepeatable(flag)) throw usage(`--${flag.name} is given twice`);
    values.set(flag.name, [...earlier, value]);
  }
  return { values, positionals };
}

function isRepeatable({ kind }: Flag): boolean {
  return kind === 'list' || kind === 'map' || kind === 'repeated';
}

function lookUp(
  arg: string,
  byName: ReadonlyMap<string, Flag>,
  createOnly: readonly string[],
): { flag: Flag; name: string; inline: string | undefined } {
  const [, name = '', inline] = /^--([^=]*)(?:=([\s\S]*))?$/.exec(arg) ?? [];
  const flag = byName.get(name);
  if (flag !== undefined) return { flag, name, inline };
  const negated = name.startsWith('no-') ? byName.get(name.slice('no-'.length)) : undefined;
  if (negated?.kind === 'switch') return { flag: negated, name, inline };
  if (name === 'api-key') {
    throw usage(
      'an API key is not taken as a flag, because other users of the machine can read it there: put it into a file for --api-key-file, or into POSTERN_CLI_API_KEY',
    );
  }
  if (createOnly.includes(name)) {
    throw usage(
      `--${name} cannot be changed: only "create" takes it. Create another with the new value, then delete this one`,
    );
  }
  const raw = arg.split('=')[0] ?? '';
  throw usage(
    `unknown flag ${raw}.${didYouMean(
      raw,
      Array.from(byName.keys(), (each) => `--${each}`),
    )}`,
  );
}

function switchValue(flag: Flag, name: string, inline: string | undefined): string {
  const isNegated = name !== flag.name && name.startsWith('no-');
  if (inline === undefined) return String(!isNegated);
  if (isNegated || (inline !== 'true' && inline !== 'false')) {
    throw usage(`--${flag.name} takes no value: write --${flag.name} or --no-${flag.name}`);
  }
  return inline;
}

function nextValue(flag: Flag, rest: string[]): string {
  const [next] = rest;
  // `--ca-pem --json` lacks a value. A certificate starts with dashes too, but does not look like a flag.
  if (next === undefined || /^--?[a-z][\w.-]*(=|$)/i.test(next)) {
    throw usage(`--${flag.name} needs a value: --${flag.name} ${flag.hint}`);
  }
  rest.shift();
  return next;
}
