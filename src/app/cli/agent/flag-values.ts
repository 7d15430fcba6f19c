import { type ParsedFlags, usage } from '../../../kit/flags.ts';
import { didYouMean } from '../../../kit/text/near-match.ts';
import type { TextSource } from '../api/text-source.ts';

/** Values of flags, rejected with the flag's name. */
export class FlagValues {
  readonly #values: ParsedFlags['values'];

  constructor({ values }: ParsedFlags) {
    this.#values = values;
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  text(name: string, fits?: (text: string) => string | null): string | null {
    const [value] = this.#values.get(name) ?? [];
    if (value === undefined) return null;
    if (value === '') throw usage(`--${name} is empty: set a value or omit it`);
    return checked(name, value, fits);
  }

  /** Null when it is absent. */
  switch(name: string): boolean | null {
    const [value] = this.#values.get(name) ?? [];
    return value === undefined ? null : value === 'true';
  }

  integer(name: string, minimum: number, maximum: number): number | null {
    const text = this.text(name);
    if (text === null) return null;
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= minimum && value <= maximum)) {
      throw usage(`--${name} must be a whole number from ${minimum} to ${maximum}`);
    }
    return value;
  }

  number(name: string, minimum: number, maximum: number): number | null {
    const text = this.text(name);
    if (text === null) return null;
    const value = /^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= minimum && value <= maximum))
      throw usage(`--${name} must be a number from ${minimum} to ${maximum}`);
    return value;
  }

  oneOf<const Choice extends string>(name: string, choices: readonly Choice[]): Choice | null {
    const text = this.text(name);
    const chosen = choices.find((choice) => choice === text);
    if (text !== null && chosen === undefined) {
      throw usage(`--${name} must be one of ${choices.join(', ')}.${didYouMean(text, choices)}`);
    }
    return chosen ?? null;
  }

  /** Repeated values, unchanged. */
  repeated(name: string): readonly string[] {
    const texts = this.#values.get(name) ?? [];
    if (texts.includes('')) throw usage(`--${name} is empty: set a value or omit it`);
    return texts;
  }

  /** Repeated, or separated by commas. */
  list(name: string, fits?: (text: string) => string | null): readonly string[] {
    const items = this.repeated(name).flatMap((text) => text.split(','));
    const texts = items.map((item) => checked(name, item.trim(), fits));
    return [...new Set(texts)];
  }

  /** `@FILE` stands for the file's text. */
  async secret(name: string, source: TextSource): Promise<string | null> {
    const text = this.text(name);
    return text === null ? null : source.expand(text, name);
  }
}

function checked(name: string, value: string, fits?: (text: string) => string | null): string {
  const problem = fits?.(value) ?? null;
  if (problem !== null) throw usage(`--${name} ${problem}`);
  return value;
}
