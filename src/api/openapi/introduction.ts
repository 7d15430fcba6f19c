import { MODULE_RULES } from '../../documents/module-operations.ts';
import { DELETE_RULE, UPDATE_RULE } from '../../documents/operations.ts';
import { LIST_DESCRIPTION, LIVE_GET_RULE } from '../../resources/live-operations.ts';

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
