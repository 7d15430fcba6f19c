import type { EdgeSnapshot } from '../snapshot/edge-snapshot.ts';
import type { Snapshots } from '../snapshot/snapshots.ts';
import type { ModuleRuntimes } from './data-plane/module-runtimes.ts';

/** Edges whose modules have no effect, compiled when somebody asks for an explanation, once per version. */
export class InertEdges {
  readonly #open: () => Promise<ModuleRuntimes>;
  readonly #compiled = new WeakMap<EdgeSnapshot, EdgeSnapshot>();
  #runtimes: Promise<ModuleRuntimes> | null = null;

  constructor(open: () => Promise<ModuleRuntimes>) {
    this.#open = open;
  }

  async of(edge: EdgeSnapshot, snapshots: Snapshots): Promise<EdgeSnapshot | null> {
    const known = this.#compiled.get(edge);
    if (known !== undefined) return known;
    // A failure is not kept: the next question tries again.
    this.#runtimes ??= this.#open().catch((error: unknown) => {
      this.#runtimes = null;
      throw error;
    });
    const { byModule } = await this.#runtimes;
    const compiled = snapshots.compileWith(edge, byModule);
    if (compiled !== null) this.#compiled.set(edge, compiled);
    return compiled;
  }

  async close(): Promise<void> {
    await this.#runtimes?.then((runtimes) => runtimes.close());
  }
}
