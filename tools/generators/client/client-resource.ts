import { kebab, moduleName, resourceName } from '../../../src/app/cli/api/api-resources.ts';
import type { OperationDescription } from '../../../src/app/cli/api/operation-list.ts';
import { resources } from '../../../src/control/resources/registry.ts';
import { registeredDescription } from '../operations/registered.ts';

/** A resource or module in the client: one file, one class, one property. */
export interface ClientResource {
  /** `https_edge_routes` or `https_edge_routes.oidc`. */
  readonly resource: string;
  readonly file: string;
  /** `HttpsEdge`, `OidcModule`: the type that the API returns. */
  readonly typeName: string;
  readonly className: string;
  readonly property: string;
  readonly description: string;
  readonly operations: readonly OperationDescription[];
  /** Modules that are properties of this one. */
  readonly modules: readonly ClientResource[];
}

export function clientResources(operations: readonly OperationDescription[]): readonly ClientResource[] {
  const grouped = Map.groupBy(operations, (operation) => operation.resource);
  const all = [...grouped].map(([resource, own]) => describe(resource, own));
  return all
    .filter(({ resource }) => moduleName(resource) === null)
    .map((owner) => ({ ...owner, modules: all.filter(({ resource }) => resource.startsWith(`${owner.resource}.`)) }));
}

function describe(resource: string, operations: readonly OperationDescription[]): ClientResource {
  const module = moduleName(resource);
  const name = resourceName(operations[0] as OperationDescription);
  const noun = module === null ? `${resources.find((each) => each.name === resource)?.kind}` : `${module}_module`;
  return {
    resource,
    file: kebab(module === null ? name : noun),
    typeName: pascal(noun),
    className: `${pascal(module === null ? name : noun)}Client`,
    property: camel(name),
    description: registeredDescription(resource),
    operations,
    modules: [],
  };
}

export function pascal(name: string): string {
  return name.replaceAll(/(^|[_-])([a-z0-9])/g, (_, __, letter: string) => letter.toUpperCase());
}

export function camel(name: string): string {
  const text = pascal(name);
  return text.charAt(0).toLowerCase() + text.slice(1);
}
