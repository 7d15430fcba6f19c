import type { HeaderList } from '../../lib/http/header-list.ts';
import { type HeaderConfig, isSecretName, isSendable } from './header-config.ts';
import { parseTemplate, type Template } from './template.ts';
import type { ValueSource } from './variables.ts';

/** The first header whose value is made of the path; null: there is none. */
export function pathHeader({ add }: HeaderConfig): string | null {
  const name = Object.keys(add).find((each) => {
    const template = parseTemplate(add[each] ?? '');
    return 'problem' in template || template.readsPath;
  });
  return name === undefined ? null : `add ${name}`;
}

/** Headers that a module adds, with their values parsed. */
export class AddedHeaders {
  readonly #headers: readonly (readonly [string, Template])[];
  /** The list, if no value has a variable. */
  readonly fixed: HeaderList | null;
  readonly #leftOut: () => void;

  /** Throws on a value that nothing could have stored. */
  constructor(add: Readonly<Record<string, string>>, leftOut: () => void) {
    const given = Object.entries(add).filter(([name, value]) => value !== '' || !isSecretName(name));
    this.#headers = given.map(([name, value]) => {
      const template = parseTemplate(value);
      if ('problem' in template) throw new Error(`the value of ${name} ${template.problem}`);
      return [name, template] as const;
    });
    this.fixed = this.#headers.every(([, { text }]) => text !== null)
      ? this.#headers.flatMap(([name, { text }]) => [name, text as string])
      : null;
    this.#leftOut = leftOut;
  }

  /** Names with a value that the visitor must not be able to send. */
  get vouchedNames(): readonly string[] {
    return this.#headers.filter(([, { isVouched }]) => isVouched).map(([name]) => name);
  }

  /** For one request, where a value has a variable. */
  list(source: ValueSource): HeaderList {
    const list: string[] = [];
    for (const [name, template] of this.#headers) {
      const value = template.read(source)?.trim();
      if (value !== undefined && isSendable(value)) list.push(name, value);
      else this.#leftOut();
    }
    return list;
  }
}
