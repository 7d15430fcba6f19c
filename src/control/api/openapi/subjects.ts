import type { TObject } from 'typebox';
import type { JsonObject } from '../../../kit/json.ts';
import type { Catalog } from '../../documents/catalog.ts';
import { DELETE_RULE, MODULE_RULES, UPDATE_RULE } from '../../documents/operations.ts';
import { LIST_DESCRIPTION, LIVE_GET_RULE } from '../../resources/live-operations.ts';
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

const RULES: readonly (readonly [of: string, rule: string])[] = [
  ['A list', LIST_DESCRIPTION],
  ['An update', UPDATE_RULE],
  ['A deletion', DELETE_RULE],
  ['Reading what lives for a time', LIVE_GET_RULE],
  ['Replacing a module', MODULE_RULES.replace],
  ['Reading a module', MODULE_RULES.get],
  ['Deleting a module', MODULE_RULES.delete],
];

/** Rules of many operations: their descriptions do not repeat them. */
export const commonRules: ReadonlySet<string> = new Set(RULES.map(([, rule]) => rule));

/** Rules that apply to every operation, documented once. */
export const introduction = [
  'Manages the HTTPS edges, routes, modules, backends, certificates, keys and events of a Postern server.',
  'Send `Authorization: Bearer <API key>` and `Service-Version: 2` with every request, and `Content-Type: application/json` with every body. `Ngrok-Version` is accepted as another name of `Service-Version`.',
  'Bodies are JSON objects of at most 1 MiB. Unknown fields, and names that an object has twice, are rejected. A field that is `null` counts as omitted, and so does `""` if an unset field is returned as `""`: the result of GET can be sent back with PUT without changing anything. With PATCH, an empty value that is not valid for a field also counts as omitted. In a response, `null` means that there is no value: a module that is not set, an empty reference, or a secret that is shown only once.',
  `Rules of many operations:\n${RULES.map(([of, rule]) => `- ${of}: ${rule}`).join('\n')}`,
  'Times are in RFC 3339, in UTC. Lists are compressed for clients that accept gzip.',
  'A field without a description in a body, such as `HttpsEdgeCreate`, is described in the resource or module, such as `HttpsEdge`.',
  'Responses with a resource or a module have an `ETag`. Send it as `If-Match` to reject the request if the resource has changed since, or with GET as `If-None-Match` to get 304 if it has not. A PUT with `If-None-Match: *` creates and never replaces. `Location` of every 201 is the URL of what was created, the same as its `uri`. A create with an `Idempotency-Key` can be repeated safely for 24 hours.',
  'Errors are JSON with a stable `error_code`, a `msg` that says what to do, and `details`. An unknown path returns 404 `ERR_POSTERN_UNKNOWN_PATH`. A known path with an unsupported method returns 405 `ERR_POSTERN_METHOD_NOT_ALLOWED`, and `Allow` lists the supported methods, as it does in the response to OPTIONS. The response `default` of an operation has the errors that all operations share; the schema `Error` says what each code means.',
  'Every response has the header `Postern-Operation-Id`: the id of the request, which is also in the log of the server.',
].join('\n\n');
