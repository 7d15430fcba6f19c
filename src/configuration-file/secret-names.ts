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
