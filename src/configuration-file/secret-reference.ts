/** Where the value of a secret is: `${env:NAME}` or `${file:PATH}`, relative to the file that names it. */
export interface SecretReference {
  readonly from: 'env' | 'file';
  readonly name: string;
}

const ENV = /^\$\{env:([A-Za-z_][A-Za-z0-9_]{0,254})\}$/;
const FILE = /^\$\{file:([^\0\r\n{}]{1,4096})\}$/;

export const SECRET_FORMS = '"$' + '{env:NAME}" or "$' + '{file:PATH}"';

export function parseSecretReference(text: string): SecretReference | null {
  const env = ENV.exec(text)?.[1];
  if (env !== undefined) return { from: 'env', name: env };
  const file = FILE.exec(text)?.[1];
  return file === undefined ? null : { from: 'file', name: file };
}

/** Names of environment variables for secrets, each used once. */
export class SecretNames {
  readonly #used = new Set<string>();

  referenceFor(parts: readonly string[]): string {
    const words = parts
      .join('_')
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, '_')
      .replaceAll(/^_+|_+$/g, '');
    const base = `${/^[0-9]/.test(words) ? '_' : ''}${words.slice(0, 120) || 'SECRET'}`;
    let name = base;
    for (let number = 2; this.#used.has(name); number += 1) name = `${base}_${number}`;
    this.#used.add(name);
    return `$\{env:${name}}`;
  }
}
