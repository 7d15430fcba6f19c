import type { Keyring } from '../../keyring.ts';

/** More than are sealed until the history is linked, unless a change is large. */
const MAX_REMEMBERED = 1_000;

export type Sealing = Pick<Keyring, 'seal' | 'open'>;

/**
 * Remembers what was sealed in the last moment. The history opens every secret again to link the entry of its change,
 * and opening one costs as much as the rest of the link.
 */
export class RecentSeals implements Sealing {
  readonly #keyring: Sealing;
  /** By the sealed text, with its row: a text that was moved to another row does not open there. */
  readonly #texts = new Map<string, { readonly context: string; readonly text: string }>();

  constructor(keyring: Sealing) {
    this.#keyring = keyring;
  }

  seal(text: string, context: string): string {
    const sealed = this.#keyring.seal(text, context);
    if (this.#texts.size < MAX_REMEMBERED) this.#texts.set(sealed, { context, text });
    return sealed;
  }

  open(sealed: string, context: string): string {
    const known = this.#texts.get(sealed);
    return known?.context === context ? known.text : this.#keyring.open(sealed, context);
  }

  /** Secrets stay in memory no longer than they are needed. */
  forget(): void {
    this.#texts.clear();
  }
}
