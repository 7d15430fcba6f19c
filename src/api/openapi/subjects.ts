import type { TObject } from 'typebox';
import type { Catalog } from '../../documents/catalog.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Operation } from '../../resources/operation.ts';
import type { Resource } from '../../resources/resource.ts';

/** The subject of operations: a resource, or a module of one. */
export interface Subject {
  /** The name used by operations, which is also the tag. */
  readonly name: string;
  /** Name of its schema, and prefix of the names of its bodies and lists. */
  readonly schemaName: string;
  readonly title: string;
  readonly description: string;
  /** The resource, or the one that the module belongs to. */
  readonly resource: Resource;
  readonly isModule: boolean;
  /** The stored form, if any, and an example of a client's body. */
  readonly config: TObject | null;
  readonly example: JsonObject;
}

export function subjectsOf(catalog: Catalog): ReadonlyMap<string, Subject> {
  const subjects = catalog.resources.flatMap((resource) => [
    subjectOfResource(resource),
    ...(catalog.compiled.get(resource.kind)?.modules ?? []).map(({ module }) => ({
      name: `${resource.name}.${module.name}`,
      schemaName: `${pascalCase(module.name)}Module`,
      title: module.title,
      description: module.description,
      resource,
      isModule: true,
      config: module.config,
      example: module.example,
    })),
  ]);
  return new Map(subjects.map((subject) => [subject.name, subject]));
}

export function subjectOf(operation: Operation, subjects: ReadonlyMap<string, Subject>): Subject {
  const subject = subjects.get(operation.resource);
  if (subject === undefined)
    throw new Error(`${operation.resource}.${operation.verb} belongs to no registered resource`);
  return subject;
}

function subjectOfResource(resource: Resource): Subject {
  const isConfiguration = resource.type === 'configuration';
  return {
    name: resource.name,
    schemaName: pascalCase(resource.kind),
    title: titleCase(resource.title),
    description: resource.description,
    resource,
    isModule: false,
    config: isConfiguration ? resource.config : null,
    example: isConfiguration ? resource.example : {},
  };
}

function pascalCase(name: string): string {
  return name.replaceAll(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

/** "an HTTPS edge" as a heading: "HTTPS edge". */
function titleCase(title: string): string {
  const noun = title.replace(/^an? /, '');
  return noun.charAt(0).toUpperCase() + noun.slice(1);
}
