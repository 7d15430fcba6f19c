import type { ParsedFlags } from '../../../kit/flags.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import type { CommandContext } from '../command.ts';

export interface Dropped {
  /** Where it was: `https_edges > app.example.com > routes > / > saml > idp_metadata`. */
  readonly place: string;
  readonly why: string;
}

const MAX_DEPTH = 64;

/** What an import could not carry over, field by field, and what its user must do. */
export class ImportReport {
  readonly dropped: Dropped[] = [];
  readonly #notes = new Set<string>();

  get notes(): readonly string[] {
    return [...this.#notes];
  }

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

  /** A service may know its callers by a header that the other program set or removed. */
  noteLostHeaders(place: readonly string[]): void {
    this.note(
      `${place.join(' > ')} changed headers of requests, and that is not carried over: if your service trusts such a header, or expects that clients cannot send it, protect it in another way before you apply this`,
    );
  }

  note(text: string): void {
    this.#notes.add(text);
  }
}

/** Names come from the input: "constructor" must not find a function. */
export function textFor(table: Readonly<Record<string, string>>, name: string, otherwise: string): string {
  return Object.hasOwn(table, name) ? (table[name] ?? otherwise) : otherwise;
}

/**
 * Fields that are not known to be harmless: each may restrict access, so what has one must not be served. An empty map
 * has an unexpected shape; an empty text or list says nothing.
 */
export function unknownFields(fields: JsonObject, harmless: ReadonlySet<string>): readonly string[] {
  return Object.entries(fields)
    .filter(([name, value]) => !harmless.has(name) && (isJsonObject(value) || !isUnset(value as JsonValue)))
    .map(([name]) => name);
}

/** Unset fields of an API's answer: null, empty texts, lists and objects. `false` and 0 are values. */
export function isUnset(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.values(value).every((each) => isUnset(each as JsonValue));
}

export interface ImportCall {
  readonly file: string;
  readonly flags: ParsedFlags['flags'];
  readonly context: CommandContext;
  readonly report: ImportReport;
}

export interface Imported {
  readonly text: string;
  /** Counts, for the last line of the report. */
  readonly summary: string;
  readonly secrets: readonly { readonly place: string; readonly reference: string }[];
}
