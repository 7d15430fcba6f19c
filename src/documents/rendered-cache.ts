import type { JsonObject } from '../lib/json.ts';
import type { StoredRecord } from '../store/store.ts';
import type { View } from './renderer.ts';

interface Rendered {
  readonly body: JsonObject;
  readonly text: string;
}

/**
 * Rendered records, cached as long as the record itself: records are immutable, and a new revision is a new object.
 * Only for output that depends on that one record; the key covers everything else that it depends on.
 */
export class RenderedCache {
  readonly #byRecord = new WeakMap<StoredRecord, Map<string, Rendered>>();

  of(record: StoredRecord, view: View, render: (view: View) => JsonObject): Rendered {
    let byView = this.#byRecord.get(record);
    if (byView === undefined) {
      byView = new Map();
      this.#byRecord.set(record, byView);
    }
    const key = `${view.readable} ${view.masked}`;
    const known = byView.get(key);
    if (known !== undefined) return known;
    const body = render(view);
    const rendered = { body, text: JSON.stringify(body) };
    byView.set(key, rendered);
    return rendered;
  }
}
