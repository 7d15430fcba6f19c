/** A longer chunk is split: adding an id moves at most this many others. */
const MAX_CHUNK = 1_024;

/**
 * Ids in ascending byte order, in chunks. New ids are almost always the greatest (they are time-sortable), so adding is
 * mostly an append; ids of other nodes arrive in any order, and 100,000 of them must not cost 100,000 moves each.
 */
export class SortedIds {
  #chunks: string[][] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(id: string): void {
    const at = this.#chunkOf(id);
    const chunk = this.#chunks[at];
    if (chunk === undefined) {
      this.#chunks.push([id]);
      this.#size = 1;
      return;
    }
    const place = firstNotBelow(chunk, id);
    if (chunk[place] === id) return;
    if (place === chunk.length) chunk.push(id);
    else chunk.splice(place, 0, id);
    this.#size += 1;
    if (chunk.length <= MAX_CHUNK) return;
    // Full chunks at the end stay full: appending does not leave them half empty.
    const isLast = at === this.#chunks.length - 1;
    this.#chunks.splice(at + 1, 0, chunk.splice(isLast ? MAX_CHUNK : MAX_CHUNK / 2));
  }

  remove(id: string): void {
    const at = this.#chunkOf(id);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return;
    const place = firstNotBelow(chunk, id);
    if (chunk[place] !== id) return;
    chunk.splice(place, 1);
    this.#size -= 1;
    if (chunk.length === 0) this.#chunks.splice(at, 1);
  }

  /** An independent list of the same ids. */
  copied(): SortedIds {
    const copy = new SortedIds();
    copy.#chunks = this.#chunks.map((chunk) => [...chunk]);
    copy.#size = this.#size;
    return copy;
  }

  /** At most `limit` ids below `beforeId`, greatest first. */
  descending(beforeId: string | null, limit: number): string[] {
    const found: string[] = [];
    let at = beforeId === null ? this.#chunks.length - 1 : this.#chunkOf(beforeId);
    let chunk = this.#chunks[at];
    let end = chunk === undefined || beforeId === null ? (chunk?.length ?? 0) : firstNotBelow(chunk, beforeId);
    while (chunk !== undefined && found.length < limit) {
      for (let place = end - 1; place >= 0 && found.length < limit; place -= 1) found.push(chunk[place] as string);
      at -= 1;
      chunk = this.#chunks[at];
      end = chunk?.length ?? 0;
    }
    return found;
  }

  /** The last chunk that starts at or below the id, or the first one. */
  #chunkOf(id: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#chunks[middle]?.[0] as string) <= id) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}

function firstNotBelow(ids: readonly string[], id: string): number {
  const last = ids.at(-1);
  if (last === undefined || last < id) return ids.length;
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] as string) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
