import { Random } from '../../../support/random.ts';

/** The random choices of hostile messages. */
export class SeededRandom extends Random {
  /** Below `end`. */
  int(end: number): number {
    return this.below(end);
  }

  chance(probability: number): boolean {
    return this.isChosen(probability);
  }

  /** For a list that is not empty. */
  override pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  list<T>(count: number, make: () => T): readonly T[] {
    return Array.from({ length: count }, make);
  }
}
