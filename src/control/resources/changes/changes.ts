import Type from 'typebox';
import { mapOf } from '../../../kit/schema/annotations.ts';
import { resourceErrors } from '../errors.ts';
import type { Operation } from '../operation.ts';
import { idParameter } from '../paging.ts';
import type { ChangePorts } from '../ports.ts';
import { type LiveResource, timestamp } from '../resource.ts';
import { confirmOperation, messageField, pendingSchema, revertOperation } from './pending-operations.ts';

const PATH = '/changes';
const MAX_LIMIT = 100;
const author = Type.Object(
  {
    kind: Type.String({
      description:
        '"api_key", "person" for somebody in the console, "local" for a command on the machine of a node without a key, or "server" for what the server did itself.',
    }),
    id: Type.String({
      description:
        'Id of the API key, name of the person, or local:NODE for a command on the machine of that node; empty for the server. A name that is not a verified email address starts with "unverified" or "subject".',
    }),
    name: Type.String({
      description: 'Description of the API key now, or the name of the person; empty for the server.',
    }),
    issuer: Type.Optional(
      Type.Union([Type.String(), Type.Null()], { description: 'OpenID issuer of the person; only for people.' }),
    ),
    subject: Type.Optional(
      Type.String({ description: 'Subject of the person at the issuer, which nobody can choose; only for people.' }),
    ),
    address: Type.Union([Type.String(), Type.Null()], { description: 'IP address of the client.' }),
    operation_id: Type.String({ description: 'Id of the request, as in the log.' }),
    via: Type.String({ description: '"api", "changeset", "apply", "undo", "confirm" or "revert".' }),
  },
  { description: 'Who made the change.' },
);
const head = {
  revision: Type.Integer({ description: 'Revision of the change, as in Postern-Revision.' }),
  at: timestamp('When it was made.'),
  author,
  message: Type.String({ description: 'Message of the author; empty if there was none.' }),
  is_linked: Type.Boolean({ description: 'Whether the entry is linked to the one before it, which takes a moment.' }),
  count: Type.Integer({ description: 'Number of changed documents.' }),
  confirm_by: Type.Union([timestamp('Until when the change must be confirmed.'), Type.Null()], {
    description: 'Until when the change must be confirmed, or it is reverted; null if it does not wait for that.',
  }),
};
const object = {
  kind: Type.String({ description: 'Kind of the resource.', examples: ['https_edge'] }),
  module: Type.Optional(Type.String({ description: 'Module of the resource, if the document is one.' })),
  id: Type.String({ description: 'Id of the resource.' }),
  name: Type.String({
    description:
      'What people call it, such as the hosts of an edge: as it is now, or as it was before it was deleted. Empty if it has no name.',
  }),
  change: Type.Enum(['created', 'updated', 'deleted'], { description: 'What happened to it.' }),
};
const document = (when: string) =>
  Type.Union([mapOf(Type.Unknown(), {}), Type.Null()], {
    description: `The document ${when} the change, with secrets masked; null if it did not exist.`,
  });
const summary = Type.Object({
  ...head,
  objects: Type.Array(Type.Object(object), { description: 'The first hundred changed documents.' }),
});
const entry = Type.Object({
  ...head,
  cannot_undo: Type.Union([Type.String(), Type.Null()], {
    description:
      'Why there is nothing to undo now: the documents are as before the change, or deleted ones do not come back. Null: there is something.',
  }),
  objects: Type.Array(
    Type.Object({
      ...object,
      before: document('before'),
      after: document('after'),
      changed_secrets: Type.Array(Type.String(), {
        description: 'JSON pointers to the secrets of the document that the change replaced, set or removed.',
      }),
    }),
    { description: 'The changed documents.' },
  ),
});

const list: Operation<ChangePorts> = {
  resource: 'changes',
  verb: 'list',
  method: 'GET',
  path: PATH,
  summary: 'List changes',
  description:
    'Changes of configuration through the API, newest first. Changes of resources that the key may not read are left out.',
  query: Type.Object(
    {
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: MAX_LIMIT,
          description: `Maximum number of results, 1 to ${MAX_LIMIT}. Default: ${MAX_LIMIT}.`,
        }),
      ),
      before_revision: Type.Optional(Type.Integer({ minimum: 1, description: 'Only changes before this revision.' })),
      since: Type.Optional(timestamp('Only changes at or after this time.')),
      until: Type.Optional(timestamp('Only changes before this time.')),
      author_id: Type.Optional(idParameter('ak', 'Only changes by this API key.')),
      object_id: Type.Optional(
        Type.String({ maxLength: 64, description: 'Only changes of this resource or its modules.' }),
      ),
    },
    { additionalProperties: false },
  ),
  success: {
    status: 200,
    schema: Type.Object({
      changes: Type.Array(summary, { description: 'The changes.' }),
      uri: Type.String({ description: 'URI of the list.' }),
      next_page_uri: Type.Union([Type.String(), Type.Null()], {
        description: 'URI of the next page; null on the last one.',
      }),
      pending: pendingSchema,
    }),
    description: 'A page, newest first.',
  },
  errors: ['ERR_POSTERN_INVALID_QUERY', 'ERR_POSTERN_INVALID_TIME'],
  run: async (request, { changes, uri }) => {
    const { limit, before_revision, since, until, author_id: authorId, object_id: objectId } = request.query;
    const size = limit === undefined ? MAX_LIMIT : Number(limit);
    const query = {
      beforeRevision: before_revision === undefined ? null : Number(before_revision),
      limit: size,
      ...(since !== undefined && { sinceMs: timeOf('since', since) }),
      ...(until !== undefined && { untilMs: timeOf('until', until) }),
      ...(authorId !== undefined && { authorId }),
      ...(objectId !== undefined && { objectId }),
    };
    const found = await changes.list(query, request.principal);
    const { lastRevision } = found;
    const next = new URLSearchParams({ ...request.query, limit: String(size), before_revision: String(lastRevision) });
    const hasMore = lastRevision !== null && found.isFull;
    const next_page_uri = hasMore ? `${uri(PATH)}?${next.toString()}` : null;
    return { body: { changes: [...found.changes], uri: uri(PATH), next_page_uri, pending: found.pending } };
  },
};

const get: Operation<ChangePorts> = {
  resource: 'changes',
  verb: 'get',
  method: 'GET',
  path: `${PATH}/{revision}`,
  summary: 'Get a change',
  description:
    'A change with every document before and after it, secrets masked. The key needs the read scope of each.',
  success: { status: 200, schema: entry, description: 'The change.' },
  errors: ['ERR_POSTERN_NOT_FOUND'],
  run: (request, { changes }) => changes.get(revisionOf(request.params), request.principal),
};

const verify: Operation<ChangePorts> = {
  resource: 'changes',
  verb: 'verify',
  method: 'GET',
  path: `${PATH}/verification`,
  summary: 'Verify the history',
  description:
    'Checks that every entry is as it was written: each is linked to the one before it by a keyed hash. Takes a while for a long history.',
  success: {
    status: 200,
    schema: Type.Object({
      intact: Type.Boolean({ description: 'Whether every link is right.' }),
      checked: Type.Integer({ description: 'Number of entries whose link is right.' }),
      unlinked: Type.Integer({ description: 'Number of newest entries that are not linked yet.' }),
      first_broken: Type.Union([Type.Integer(), Type.Null()], {
        description:
          'Revision of the first entry that was changed, or that follows a removed one; null if there is none.',
      }),
    }),
    description: 'The result.',
  },
  errors: [],
  run: async (_request, { changes }) => ({ body: await changes.verify() }),
};

const skipped = Type.Array(
  Type.Object({
    kind: Type.String({ description: 'Kind of the record.' }),
    id: Type.String({ description: 'Its id.' }),
  }),
  {
    description: 'Documents that do not come back.',
  },
);

const undo: Operation<ChangePorts> = {
  resource: 'changes',
  verb: 'undo',
  method: 'POST',
  path: `${PATH}/{revision}/undo`,
  returnsRevision: true,
  summary: 'Undo a change',
  description:
    'Makes a new change that restores every document as it was before. Undoing a creation deletes; undoing a deletion brings the same id back. Deleted API keys, credentials, tokens and guest links do not come back. The key needs the write scope of each document.',
  body: {
    schema: Type.Object(
      {
        force: Type.Optional(Type.Boolean({ description: 'Restores documents that were changed again later, too.' })),
        message: messageField,
      },
      { additionalProperties: false },
    ),
    example: { message: 'the new login loops' },
  },
  success: {
    status: 200,
    schema: Type.Object({
      revision: Type.Integer({ description: 'Revision of the new change.' }),
      undoes: Type.Integer({ description: 'Revision that was undone.' }),
      skipped,
    }),
    description: 'The change is undone.',
  },
  errors: [
    'ERR_POSTERN_NOT_FOUND',
    'ERR_POSTERN_INVALID_BODY',
    'ERR_POSTERN_CHANGED_SINCE',
    'ERR_POSTERN_CANNOT_UNDO',
    'ERR_POSTERN_CHANGE_PENDING',
  ],
  run: (request, { changes }) =>
    changes.undo(
      revisionOf(request.params),
      { isForced: request.body['force'] === true, message: (request.body['message'] ?? '') as string },
      request,
    ),
};

const confirm = confirmOperation(PATH, revisionOf);
const revert = revertOperation(PATH, revisionOf, skipped);

/** The history of configuration. */
export const changes: LiveResource<ChangePorts> = {
  type: 'live',
  name: 'changes',
  kind: 'change',
  idPrefix: '',
  path: PATH,
  listKey: 'changes',
  title: 'a change',
  description: 'A change of configuration: who made it, when, and every document before and after it.',
  operations: [list, get, verify, undo, confirm, revert],
};

function revisionOf({ revision = '' }: Readonly<Record<string, string>>): number {
  if (/^\d{1,15}$/.test(revision)) return Number(revision);
  throw resourceErrors.create(
    'ERR_POSTERN_NOT_FOUND',
    `"${revision.slice(0, 64)}" is not a revision: use the number that Postern-Revision showed`,
  );
}

function timeOf(parameter: string, text: string): number {
  const ms = Date.parse(text);
  if (!Number.isNaN(ms) && /^\d{4}-\d\d-\d\dT/.test(text)) return ms;
  throw resourceErrors.create('ERR_POSTERN_INVALID_TIME', `${parameter} must be a time such as 2026-11-01T00:00:00Z`, {
    details: { field: parameter },
  });
}
