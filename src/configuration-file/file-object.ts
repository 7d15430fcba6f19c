import type { JsonObject } from '../lib/json.ts';
import type { ObjectKind } from './sections.ts';
import type { FileSecret } from './wire-body.ts';

export interface FilePlace {
  readonly file: string;
  readonly line: number;
}

/** Part of an object with a schema of its own: its fields, or one of its modules. */
export interface FileConfig {
  /** Every field but secrets, with defaults, and with stand-ins for the ids of other objects. */
  readonly config: JsonObject;
  /** By JSON pointer. */
  readonly secrets: ReadonlyMap<string, FileSecret>;
}

/** An object of the files, checked without a server. */
export interface FileObject extends FileConfig, FilePlace {
  readonly kind: ObjectKind;
  readonly name: string;
  /** Stands for its id in references. */
  readonly id: string;
  readonly modules: ReadonlyMap<string, FileConfig>;
  readonly children: readonly FileObject[];
}

/** A name that the files use and do not have: it may exist on the server. */
export interface MissingName extends FilePlace {
  readonly section: string;
  readonly name: string;
  /** Stands for its id in references. */
  readonly id: string;
  readonly problem: string;
}

const ID_DIGITS = 27;

/** Ids that stand for those of objects: well-formed, and unlike any real one, whose first digits are its time. */
export class StandInIds {
  #count = 0;

  next(idPrefix: string): string {
    this.#count += 1;
    return `${idPrefix}_${String(this.#count).padStart(ID_DIGITS, '0')}`;
  }
}
