import { CodedForms } from '../../../kit/files/coded-forms.ts';
import { type FolderRules, FolderSite } from '../../../kit/files/folder-site.ts';
import type { FolderBounds } from '../../../kit/files/open-file.ts';
import { OpenFiles } from '../../../kit/files/open-files.ts';

type SharedBounds = Pick<FolderBounds, 'roots' | 'forbidden'>;

/** No folder may be served. */
export const NO_FOLDERS: SharedBounds = { roots: [], forbidden: [] };

/** The folders that `files` backends of this thread serve. They share open files and compressed forms. */
export class Folders {
  readonly #bounds: SharedBounds;
  readonly #parts: { readonly files: OpenFiles; readonly forms: CodedForms };
  /** By the version of a backend. */
  readonly #sites = new WeakMap<object, FolderSite>();

  /** `hasRoom`: whether this process may open one more file. Absent: always. */
  constructor(bounds: SharedBounds, hasRoom?: () => boolean) {
    this.#bounds = bounds;
    this.#parts = { files: new OpenFiles(hasRoom), forms: new CodedForms() };
  }

  of(backend: object, rules: () => Omit<FolderRules, keyof SharedBounds>): FolderSite {
    let site = this.#sites.get(backend);
    if (site === undefined) {
      site = new FolderSite({ ...rules(), ...this.#bounds }, this.#parts);
      this.#sites.set(backend, site);
    }
    return site;
  }
}
