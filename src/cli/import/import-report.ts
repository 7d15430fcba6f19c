import { isJsonObject, type JsonValue } from '../../lib/json.ts';

export interface Dropped {
  /** Where it was: `https_edges > app.example.com > routes > / > saml > idp_metadata`. */
  readonly place: string;
  readonly why: string;
}

const MAX_DEPTH = 64;

/** What an import could not carry over, field by field, and what its user must do. */
export class ImportReport {
  readonly dropped: Dropped[] = [];
  readonly notes: string[] = [];

  drop(place: readonly string[], why: string): void {
    this.dropped.push({ place: place.join(' > '), why });
  }

  /** Every field inside a value that is set. Values themselves are not repeated: they may be secrets. */
  dropFields(place: readonly string[], value: JsonValue | undefined, why: string): void {
    if (isUnset(value)) return;
    const inner = isJsonObject(value) && place.length < MAX_DEPTH ? Object.entries(value) : [];
    const set = inner.filter(([, each]) => !isUnset(each as JsonValue));
    if (set.length === 0) this.drop(place, why);
    else for (const [name, each] of set) this.dropFields([...place, name], each as JsonValue, why);
  }

  note(text: string): void {
    if (!this.notes.includes(text)) this.notes.push(text);
  }
}

/** Unset fields of an API's answer: null, empty texts, lists and objects. `false` and 0 are values. */
export function isUnset(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.values(value).every((each) => isUnset(each as JsonValue));
}
