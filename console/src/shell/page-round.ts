import { signal } from '@preact/signals';

/** A page of another round is a new one, and loads everything that it shows. */
export const pageRound = signal(0);

export function loadPageAgain(): void {
  pageRound.value += 1;
}
