import { didYouMean } from '../../../../kit/text/near-match.ts';
import { type DurationRule, durationForm, readDuration } from '../../../../kit/text/time.ts';
import type { YamlEntry, YamlMap } from '../../../../kit/text/yaml/plain-yaml.ts';

/** Nobody reads the rest, and a million guesses at what was meant take minutes. */
const MAX_EXPLAINED = 100;

/** A YAML file being read. Problems are collected, so that the user can correct all of them at once. */
export class YamlSource {
  readonly problems: string[] = [];
  readonly #fileName: string;

  constructor(fileName: string) {
    this.#fileName = fileName;
  }

  problem(line: number, message: string): void {
    this.problems.push(`${this.#fileName}:${line}: ${message}`);
  }
}

/**
 * The fields of a map with known keys. Readers return null for an absent value, and for an invalid one after recording
 * it.
 */
export class YamlFields {
  readonly #source: YamlSource;
  readonly #path: string;
  readonly #fields = new Map<string, YamlEntry>();
  readonly line: number;

  /** `path` is the prefix of keys in messages: `tunnels.web.`; empty at the top. */
  constructor(source: YamlSource, map: YamlMap, path: string, known: readonly string[] | null) {
    this.#source = source;
    this.#path = path;
    this.line = map.line;
    for (const [name, entry] of map.entries) {
      if (known !== null && !known.includes(name))
        source.problem(
          entry.line,
          source.problems.length < MAX_EXPLAINED ? unknownKey(name, path, known) : 'unknown key',
        );
      else this.#fields.set(name, entry);
    }
  }

  keys(): readonly string[] {
    return [...this.#fields.keys()];
  }

  has(key: string): boolean {
    return this.#fields.has(key);
  }

  problem(key: string | null, message: string): null {
    const line = key === null ? this.line : (this.#fields.get(key)?.line ?? this.line);
    this.#source.problem(line, message);
    return null;
  }

  text(key: string, fits?: (text: string) => string | null): string | null {
    const value = this.#scalar(key);
    if (value === undefined) return null;
    if (typeof value !== 'string') return this.#wrong(key, 'must be a string', `quote it: ${key}: "…"`);
    if (value === '') return this.#wrong(key, 'is empty', 'set a value or remove the line');
    const problem = fits?.(value) ?? null;
    return problem === null ? value : this.#wrong(key, problem);
  }

  /** A port needs no quotes. */
  address(key: string): string | null {
    const value = this.#scalar(key);
    return typeof value === 'number' ? String(value) : this.text(key);
  }

  oneOf<const Choice extends string>(key: string, choices: readonly Choice[]): Choice | null {
    const value = this.text(key);
    const chosen = choices.find((choice) => choice === value);
    if (value === null || chosen !== undefined) return chosen ?? null;
    return this.#wrong(key, `must be one of ${choices.join(', ')}`, `write ${key}: ${choices[0]}`);
  }

  boolean(key: string): boolean | null {
    const value = this.#scalar(key);
    if (value === undefined || typeof value === 'boolean') return value ?? null;
    return this.#wrong(key, 'must be true or false', `write ${key}: true`);
  }

  is(key: string, value: string | boolean): boolean {
    const node = this.#fields.get(key)?.node;
    return node?.type === 'scalar' && node.value === value;
  }

  integer(key: string, minimum: number, maximum: number): number | null {
    const value = this.#scalar(key);
    if (value === undefined) return null;
    if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum) return value;
    return this.#wrong(key, `must be a whole number from ${minimum} to ${maximum}`);
  }

  /** In the unit of the rule. */
  duration(key: string, rule: DurationRule): number | null {
    const value = this.#scalar(key);
    if (value === undefined) return null;
    return readDuration(value, rule) ?? this.#wrong(key, `must be ${durationForm(rule)}`);
  }

  number(key: string, minimum: number, maximum: number): number | null {
    const value = this.#scalar(key);
    if (value === undefined) return null;
    if (typeof value === 'number' && value >= minimum && value <= maximum) return value;
    return this.#wrong(key, `must be a number from ${minimum} to ${maximum}`);
  }

  textList(key: string, example: string, fits: (text: string) => string | null = () => null): readonly string[] | null {
    const field = this.#fields.get(key);
    if (field === undefined) return null;
    const written = `${key}: ${example.startsWith('[') ? example : `[${example}]`}`;
    if (field.node.type !== 'list') return this.#wrong(key, 'must be a list', `write ${written}`);
    // An empty list may be meant as "nobody", and without the list everybody would be let in.
    if (field.node.items.length === 0) return this.#wrong(key, 'is empty', `write ${written}, or remove it`);
    const texts: string[] = [];
    for (const item of field.node.items) {
      const value = item.type === 'scalar' ? item.value : undefined;
      const problem = typeof value === 'string' && value !== '' ? fits(value) : 'must be a string: quote it';
      if (problem === null && !texts.includes(value as string)) texts.push(value as string);
      else this.#source.problem(item.line, `an item of ${this.#path}${key} ${problem ?? 'is a duplicate: remove one'}`);
    }
    return texts;
  }

  /** `known` null accepts any key. */
  map(key: string, known: readonly string[] | null): YamlFields | null {
    const field = this.#fields.get(key);
    if (field === undefined) return null;
    if (field.node.type === 'map') return new YamlFields(this.#source, field.node, `${this.#path}${key}.`, known);
    return this.#wrong(key, 'must be a map', 'write its fields on the following lines, indented by two spaces');
  }

  /** Undefined: absent, or invalid and recorded. */
  #scalar(key: string): unknown {
    const field = this.#fields.get(key);
    if (field === undefined) return undefined;
    const { node } = field;
    // A key without a value may be a mistake, and its meaning cannot be known.
    if (node.type === 'scalar' && node.value === null) {
      this.#wrong(key, 'is empty', 'set a value or remove the line');
      return undefined;
    }
    if (node.type === 'scalar') return node.value;
    this.#wrong(key, 'must be a single value, not a list or a map');
    return undefined;
  }

  #wrong(key: string, what: string, advice?: string): null {
    return this.problem(key, `${this.#path}${key} ${what}${advice === undefined ? '' : `: ${advice}`}`);
  }
}

function unknownKey(name: string, path: string, known: readonly string[]): string {
  const shown = JSON.stringify(name.slice(0, 60));
  return `unknown key ${shown}${within(path)}.${didYouMean(name, known)} Known keys: ${known.join(', ')}`;
}

function within(path: string): string {
  return path === '' ? '' : ` in ${path.slice(0, -1)}`;
}
