import type { TObject, TSchema } from 'typebox';
import type { OperationDescription } from './operation-list.ts';

/**
 * Name of an operation's resource outside of the wire, in snake_case: `https_edges`. A module is a resource of its own:
 * `oidc`. `/backends/static` holds the static backends: `static_backends`.
 */
export function resourceName({ resource, path }: Pick<OperationDescription, 'resource' | 'path'>): string {
  const module = moduleName(resource);
  if (module !== null) return module;
  const [, group, name] = path.split('/');
  return name === resource ? `${name}_${group}` : resource;
}

/** Null when the resource is not a module. */
export function moduleName(resource: string): string | null {
  return resource.split('.')[1] ?? null;
}

/** The singular noun of a resource, or of a module's owner: `https_edges` gives `edge`. */
export function singularNoun(operation: Pick<OperationDescription, 'resource' | 'path'>): string {
  const [owner = ''] = operation.resource.split('.');
  const word =
    resourceName({ ...operation, resource: owner })
      .split('_')
      .at(-1) ?? '';
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.replace(/s$/, '');
}

export function kebab(name: string): string {
  return name.replaceAll('_', '-');
}

/** `review_proposed` as a word of a command: `review-proposed`. */
export function verbWord({ verb }: Pick<OperationDescription, 'verb'>): string {
  return kebab(verb);
}

/** Names of the path's parameters, in order. */
export function pathParameters(path: string): readonly string[] {
  return Array.from(path.matchAll(/\{([^}]+)\}/g), ([, name]) => name as string);
}

/** The field of a list's envelope that holds the items, and their schema; null when it is not a list. */
export function listItems(operation: OperationDescription): { readonly key: string; readonly item: TSchema } | null {
  if (operation.verb !== 'list') return null;
  for (const [key, field] of Object.entries((operation.success.schema as TObject).properties)) {
    const { items } = field as { items?: TSchema };
    if (items !== undefined) return { key, item: items };
  }
  return null;
}
