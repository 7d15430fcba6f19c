import { HostTable } from './host-table.ts';

/** The hosts on which ambiguous paths are allowed: the settings `ambiguous_paths` and `ambiguous_paths_pass_hosts`. */
export class AmbiguousPaths {
  readonly #passesEverywhere: boolean;
  readonly #patterns: ReadonlySet<string>;
  readonly #hosts = new HostTable<true>();

  constructor(mode: 'refuse' | 'pass' = 'refuse', passHosts: readonly string[] = []) {
    this.#passesEverywhere = mode === 'pass';
    this.#patterns = new Set(passHosts);
    for (const pattern of passHosts) this.#hosts.set(pattern, true);
  }

  /** Whether they are allowed on every host of an edge with these patterns. */
  passOnAll(patterns: readonly string[]): boolean {
    return this.#passesEverywhere || patterns.every((pattern) => this.#patterns.has(pattern));
  }

  passOn(host: string): boolean {
    return this.#passesEverywhere || this.#hosts.find(host) !== undefined;
  }
}

export const REFUSED_EVERYWHERE = new AmbiguousPaths();
