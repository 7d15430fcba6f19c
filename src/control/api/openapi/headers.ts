import type { Operation } from '../../resources/operation.ts';
import type { HeaderObject, ParameterObject, Reference } from './document.ts';
import type { Subject } from './subjects.ts';

export const responseHeaders: Readonly<Record<string, HeaderObject>> = {
  ETag: {
    description: 'Revision of the returned resource, for If-Match. Live fields do not change it.',
    schema: { type: 'string' },
    example: '"12"',
  },
  'Postern-Revision': {
    description:
      'With the response to a write: revision of the configuration that includes it. The edge of the same process already applies it.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
    example: '12',
  },
  'Postern-Problem': {
    description:
      'Present if the returned edge or route rejects all traffic because an enabled module cannot be prepared: the module, a colon and the cause. Several are separated by "; ", and an edge names the route of each in parentheses.',
    schema: { type: 'string' },
    example:
      'oidc: login has no issuer: set it with "postern api oidc replace" or PUT. To allow access without login, delete the module or set "enabled": false',
  },
  'Postern-Warning': {
    description:
      'Present if the returned edge or domain serves traffic, but not as intended: "certificate:", the cause and the name in parentheses; or if the revocation list of the returned certificate authority cannot be used: "crl:", the cause and the id. Several are separated by "; ".',
    schema: { type: 'string' },
    example:
      'certificate: app.example.com resolves to 192.0.2.7, which is not this server; clients get a certificate of the internal CA (app.example.com)',
  },
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'string', pattern: '^[0-9]+$' }, example: '1' },
  'WWW-Authenticate': { description: 'Always Bearer.', schema: { type: 'string' }, example: 'Bearer' },
};

export const requestHeaders: Readonly<Record<string, ParameterObject>> = {
  ServiceVersion: serviceVersion('Version of the API: 2.', ['2']),
  ServiceVersionOr0: serviceVersion(
    "Version of the API: 2, or 0. In version 0, the metadata of a tunnel is that of its agent's session.",
    ['2', '0'],
  ),
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description:
      'ETag from an earlier response. If the resource has changed since, the request has no effect and returns 412.',
    schema: { type: 'string' },
    example: '"12"',
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description:
      'ETags from earlier responses, or `*` for any. A read of a resource that has one of them returns 304 without a body; a write has no effect and returns 412. `*` on PUT creates only.',
    schema: { type: 'string' },
    example: '"12"',
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A unique value, such as a UUID. A repeated request with the same key and body within 24 hours has no further effect.',
    schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
    example: '5d1f0c1e-7c4f-4a52-9d0b-3f5a0c9b8e11',
  },
};

export function requestHeadersOf(operation: Operation, isNotModifiable: boolean): readonly Reference[] {
  const names = [
    operation.acceptsVersion0 === true ? 'ServiceVersionOr0' : 'ServiceVersion',
    ...(operation.isConditional === true ? ['IfMatch'] : []),
    ...(isNotModifiable || (operation.isConditional === true && operation.method !== 'POST') ? ['IfNoneMatch'] : []),
    ...(operation.isIdempotentByKey === true ? ['IdempotencyKey'] : []),
  ];
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

/** Whether a read can return 304. Live fields change without the ETag. */
export function canBeNotModified(
  { method, path, verb }: Operation,
  { resource, isModule }: Subject,
  conditionalPaths: ReadonlySet<string>,
): boolean {
  if (method !== 'GET' || !conditionalPaths.has(path) || !/(?:^|\.)get$/.test(verb)) return false;
  return isModule || resource.type !== 'configuration' || resource.live === undefined;
}

/**
 * Responses on paths that accept a condition document the ETag that it needs; so do creates. The introduction names the
 * `Location` of a 201.
 */
export function responseHeadersOf(
  operation: Operation,
  subject: Subject,
  conditionalPaths: ReadonlySet<string>,
): Readonly<Record<string, Reference>> {
  const isTagged = conditionalPaths.has(operation.path) || operation.isIdempotentByKey === true;
  return {
    ...(isTagged && operation.success.schema !== null && headerRef('ETag')),
    ...(isConfigurationWrite(operation, subject) && headerRef('Postern-Revision')),
    ...(showsProblems(operation, subject) && headerRef('Postern-Problem')),
    ...(showsWarnings(operation, subject) && headerRef('Postern-Warning')),
  };
}

export function headerRef(name: string): Readonly<Record<string, Reference>> {
  return { [name]: { $ref: `#/components/headers/${name}` } };
}

/** Edges, routes and their modules, one at a time. */
function showsProblems({ verb, success }: Operation, { resource }: Subject): boolean {
  return (
    resource.type === 'configuration' && resource.passes !== undefined && verb !== 'list' && success.schema !== null
  );
}

/** Resources with host names or other causes of warnings, one at a time; not their modules and actions. */
function showsWarnings({ verb, success, resource: name }: Operation, { resource }: Subject): boolean {
  const hasWarnings =
    resource.type === 'configuration' && (resource.hasHostNames === true || resource.hasWarnings === true);
  return hasWarnings && name === resource.name && verb !== 'list' && success.schema !== null;
}

function isConfigurationWrite(operation: Operation, { resource }: Subject): boolean {
  if (operation.method === 'GET') return false;
  if (operation.isConditional === true || operation.isIdempotentByKey === true) return true;
  if (operation.returnsRevision === true) return true;
  return resource.type === 'configuration' && operation.success.schema === null;
}

function serviceVersion(description: string, versions: readonly string[]): ParameterObject {
  return {
    name: 'Service-Version',
    in: 'header',
    required: true,
    description,
    schema: { type: 'string', enum: versions },
    example: '2',
  };
}
