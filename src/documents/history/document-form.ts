import type { Catalog } from '../catalog.ts';
import type { CompiledModule, CompiledResource } from '../compiled.ts';

/** What a record of some kind is: a resource, or a module of one. */
export interface DocumentForm {
  readonly owner: CompiledResource;
  /** Null: the record is the resource itself. */
  readonly module: CompiledModule | null;
  readonly compiled: CompiledResource | CompiledModule;
  readonly path: string;
}

/** Null: no resource or module of this version has such records. */
export function documentForm(catalog: Catalog, kind: string): DocumentForm | null {
  const [ownerKind = '', name] = kind.split('.');
  const owner = catalog.compiled.get(ownerKind);
  if (owner === undefined) return null;
  const { path } = owner.resource;
  if (name === undefined) return { owner, module: null, compiled: owner, path };
  const module = owner.modules.find((each) => each.module.name === name);
  return module === undefined ? null : { owner, module, compiled: module, path };
}
