import { parseArgs } from 'node:util';
import { errorTable } from './errors.ts';
import { didYouMean } from './near-match.ts';

export const flagErrors = errorTable({
  ERR_POSTERN_USAGE: {
    status: 400,
    explanation:
      'The command line has an unknown flag, a missing value or too many arguments. `--help` lists the flags.',
  },
});

/** `value` takes the next argument, `switch` takes none (but `--flag=false` works). */
export type FlagForm = 'value' | 'switch';

export interface ParsedFlags {
  /** By name without dashes; a switch without a value is `true`. */
  readonly flags: ReadonlyMap<string, string>;
  readonly positionals: readonly string[];
}

/**
 * Parses `--name value`, `--name=value` and `--switch`. Rejects unknown flags by name, and never repeats a value in a
 * message: it may be a secret behind a misspelled flag.
 */
export function parseFlags(args: readonly string[], known: ReadonlyMap<string, FlagForm>): ParsedFlags {
  const flags = new Map<string, string>();
  const positionals: string[] = [];
  for (const token of flagTokens(args, known)) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const form = known.get(token.name);
    if (form === undefined) throw unknownFlag(token.rawName, known);
    if (flags.has(token.name)) throw usage(`--${token.name} is given twice`);
    // `--data-dir --print-config` lacks a value; a value that really starts with a dash is written with `=`.
    // A dash alone stands for standard input or output.
    const isForgotten = token.value === undefined || (!token.inlineValue && /^-./.test(token.value));
    if (form === 'value' && isForgotten) throw usage(`--${token.name} requires a value: --${token.name} VALUE`);
    flags.set(token.name, token.value ?? 'true');
  }
  return { flags, positionals };
}

export function usage(message: string): Error {
  return flagErrors.create('ERR_POSTERN_USAGE', message);
}

/** Tokens of a command line, split by the runtime's parser. They include unknown flags. */
export function flagTokens(args: readonly string[], known: ReadonlyMap<string, FlagForm>) {
  const options: Record<string, { type: 'string' | 'boolean' }> = {};
  for (const [name, form] of known) options[name] = { type: form === 'value' ? 'string' : 'boolean' };
  return parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true }).tokens;
}

export type FlagToken = Extract<ReturnType<typeof flagTokens>[number], { readonly kind: 'option' }>;

function unknownFlag(rawName: string, known: ReadonlyMap<string, FlagForm>): Error {
  const flags = Array.from(known.keys(), (name) => `--${name}`);
  return usage(`unknown flag ${rawName}.${didYouMean(rawName, flags)}`);
}
