import type { Module } from '../../../modules/contract/module.ts';
import { type Catalog, createCatalog } from '../../documents/catalog.ts';
import type { Documents } from '../../documents/documents.ts';
import { operationsOf } from '../../documents/operations.ts';
import type { Operation } from '../../resources/operation.ts';

/** The operations as definitions only, to describe them without a store. None of them can run. */
export function registeredOperations(
  resources: Catalog['resources'],
  modules: readonly Module[],
): { readonly catalog: Catalog; readonly operations: readonly Operation[] } {
  const catalog = createCatalog(resources, modules);
  const noDocuments = new Proxy({} as Documents, {
    get: () => {
      throw new Error('this operation can only be described, not run');
    },
  });
  return { catalog, operations: operationsOf(catalog, noDocuments) };
}
