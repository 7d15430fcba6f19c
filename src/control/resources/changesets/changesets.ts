import Type from 'typebox';
import type { JsonObject } from '../../../kit/json.ts';
import { mapOf } from '../../../kit/schema/annotations.ts';
import { pendingSchema } from '../changes/pending-operations.ts';
import type { Operation } from '../operation.ts';
import type { ChangesetsPort } from '../ports.ts';
import type { LiveResource } from '../resource.ts';

export interface ChangesetPorts {
  readonly changesets: ChangesetsPort;
}

const PATH = '/changesets';
/** Stands for the id that operation N made. */
const idOf = (operation: number | 'N'): string => `$\{${operation}.id}`;
const MAX_OPERATIONS = 50_000;
const MAX_BYTES = 64 * 1024 * 1024;

const operationSchema = Type.Object({
  method: Type.Enum(['POST', 'PATCH', 'PUT', 'DELETE'], { description: 'Method of the write.' }),
  path: Type.String({
    pattern: '^/',
    maxLength: 2048,
    description: `Path of the write. \`${idOf('N')}\` stands for a field of the result of operation N, counted from 0. N must be an earlier operation.`,
    examples: [`/edges/https/${idOf(0)}/routes`],
  }),
  body: Type.Optional(
    mapOf(Type.Unknown(), {
      description: `Body of the write. \`{"$ref": N, "field": "id"}\` in place of a value stands for a field of the result of operation N, and so does \`${idOf('N')}\` in place of a name.`,
    }),
  ),
});

const resultSchema = Type.Object({
  status: Type.Integer({ description: 'Status that the operation would have on its own.' }),
  body: Type.Union([mapOf(Type.Unknown(), {}), Type.Null()], {
    description: 'Its response body; null if it has none. A dry run shows no tokens.',
  }),
  changed: Type.Optional(
    Type.Boolean({
      description:
        'In a dry run: whether the operation would change something. Absent for a key without the scope secrets:read: it would tell whether a secret was guessed.',
    }),
  ),
});

const ownerSchema = Type.Object(
  {
    name: Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
      description: 'Name of the owner, such as "team-web": letters, digits, dots, hyphens and underscores.',
    }),
    claims: Type.Array(
      Type.Object({
        id: Type.String({
          maxLength: 64,
          description: `Id of a resource. \`${idOf('N')}\` stands for the id that operation N made.`,
        }),
        name: Type.String({ maxLength: 2048, description: "Its name in the owner's files." }),
      }),
      { maxItems: MAX_OPERATIONS, description: "The resources that the owner's files have." },
    ),
    take_over: Type.Optional(
      Type.Boolean({ description: 'Whether resources of other owners become resources of this one. Default: false.' }),
    ),
  },
  {
    default: undefined,
    description:
      'Remembers beside each resource who applies it, in the same revision. GET /changesets/claims returns what an owner has. A deleted resource has no owner.',
  },
);

const claimsSchema = Type.Object({
  claims: Type.Array(
    Type.Object({
      owner: Type.String({ description: 'Name of the owner.' }),
      id: Type.String({ description: 'Id of the resource.' }),
      kind: Type.String({ description: 'Kind of the resource.', examples: ['https_edge'] }),
      name: Type.String({ description: "Its name in the owner's files." }),
    }),
    { description: 'The owned resources that the key may read; never paged.' },
  ),
});

const example: JsonObject = {
  operations: [
    { method: 'POST', path: '/edges/https', body: { description: 'shop' } },
    {
      method: 'POST',
      path: `/edges/https/${idOf(0)}/routes`,
      body: { match: '/', match_type: 'path_prefix', compression: { enabled: true } },
    },
  ],
  dry_run: true,
};

const changesetSchema = Type.Object({
  operations: Type.Array(operationSchema, { description: 'The writes, in order.', maxItems: MAX_OPERATIONS }),
  expected_revision: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Returns 412 if the configuration has another revision by now.' }),
  ),
  message: Type.Optional(Type.String({ maxLength: 1024, description: 'Message for the history.' })),
  dry_run: Type.Optional(
    Type.Boolean({ description: 'Validates everything against the current state and stores nothing.' }),
  ),
  confirm_within: Type.Optional(
    Type.String({
      pattern: '^[1-9][0-9]{0,5}[smh]$',
      description:
        'The server reverts the change unless POST /changes/{revision}/confirm arrives within this time, from 1s to 24h. Until then other writes to its documents are rejected, and no other change can wait.',
      examples: ['5m'],
    }),
  ),
  owner: Type.Optional(ownerSchema),
});

const create: Operation<ChangesetPorts> = {
  resource: 'changesets',
  verb: 'create',
  method: 'POST',
  path: PATH,
  summary: 'Apply several writes as one',
  description: `Runs up to ${MAX_OPERATIONS} writes in order and stores all of them or nothing, in one revision: no request through an edge sees a part of them. A failing operation is reported with its own status; details.operation is its number. Each operation needs its own scope. Reads and actions are not allowed.`,
  body: {
    schema: changesetSchema,
    example,
    maxBytes: MAX_BYTES,
    isDecodedByOperation: true,
  },
  success: {
    status: 200,
    schema: Type.Object({
      revision: Type.Integer({
        description: 'Revision of the change; of a dry run, the revision against which it was validated.',
      }),
      dry_run: Type.Boolean({ description: 'Whether nothing was stored.' }),
      results: Type.Array(resultSchema, { description: 'One result per operation.' }),
      pending: pendingSchema,
    }),
    description: 'All operations succeeded.',
  },
  errors: [
    'ERR_POSTERN_INVALID_BODY',
    'ERR_POSTERN_NOT_FOUND',
    'ERR_POSTERN_UNKNOWN_REFERENCE',
    'ERR_POSTERN_REFERENCE_CYCLE',
    'ERR_POSTERN_ALREADY_EXISTS',
    'ERR_POSTERN_IN_USE',
    'ERR_POSTERN_LAST_API_KEY',
    'ERR_POSTERN_PRECONDITION_FAILED',
    'ERR_POSTERN_TOO_MANY_CONFLICTS',
    'ERR_POSTERN_CHANGE_PENDING',
    'ERR_POSTERN_OWNED_BY_ANOTHER',
  ],
  // Each operation needs its own.
  scopes: [],
  run: (request, { changesets }) => changesets.run(request, changesetSchema),
};

const claims: Operation<ChangesetPorts> = {
  resource: 'changesets',
  verb: 'claims',
  method: 'GET',
  path: `${PATH}/claims`,
  summary: 'List what owners have',
  description: 'Returns the resources that the files of an owner had, or of all owners, as changesets stated them.',
  query: Type.Object(
    {
      owner: Type.Optional(
        Type.String({ minLength: 1, maxLength: 64, description: 'Only resources of the owner with this name.' }),
      ),
    },
    { additionalProperties: false },
  ),
  success: { status: 200, schema: claimsSchema, description: 'The owned resources.' },
  errors: [],
  // Each resource needs its own.
  scopes: [],
  run: ({ query, principal }, { changesets: port }) => ({ body: port.claims(query['owner'] || null, principal) }),
};

/** Several writes of the API in one transaction. */
export const changesets: LiveResource<ChangesetPorts> = {
  type: 'live',
  name: 'changesets',
  kind: 'changeset',
  idPrefix: '',
  path: PATH,
  listKey: 'changesets',
  title: 'a changeset',
  description: 'Several writes that are stored together or not at all.',
  operations: [create, claims],
};
