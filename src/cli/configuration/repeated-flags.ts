import { type FlagForm, flagTokens, type ParsedFlags, parseFlags, usage } from '../../lib/flags.ts';

export interface RepeatedFlags extends ParsedFlags {
  /** Values of the flags that may be given several times, in order. */
  readonly repeated: ReadonlyMap<string, readonly string[]>;
}

/** Parses flags of which some may be repeated. `short` maps a letter to its flag: `f` to `file`. */
export function parseRepeatedFlags(
  args: readonly string[],
  known: ReadonlyMap<string, FlagForm>,
  names: readonly string[],
  short: ReadonlyMap<string, string> = new Map(),
): RepeatedFlags {
  const all = new Map<string, FlagForm>([
    ...known,
    ...[...names, ...short.keys()].map((name) => [name, 'value'] as const),
  ]);
  const repeated = new Map<string, string[]>(names.map((name) => [name, []]));
  const taken = new Set<number>();
  for (const token of flagTokens(args, all)) {
    if (token.kind !== 'option') continue;
    const name = short.get(token.name) ?? token.name;
    const values = repeated.get(name);
    if (values === undefined) continue;
    const isForgotten = token.value === undefined || (!token.inlineValue && /^-./.test(token.value));
    if (isForgotten) throw usage(`${token.rawName} requires a value: ${token.rawName} VALUE`);
    values.push(token.value as string);
    taken.add(token.index);
    if (!token.inlineValue) taken.add(token.index + 1);
  }
  const rest = args.filter((_, index) => !taken.has(index));
  return { ...parseFlags(rest, new Map([...known, ...names.map((name) => [name, 'value'] as const)])), repeated };
}
