import Type from 'typebox';
import type { Operation } from '../operation.ts';
import type { SearchPort } from '../ports.ts';
import type { LiveResource } from '../resource.ts';

export interface SearchPorts {
  readonly search: SearchPort;
}

const PATH = '/search';
const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 20;
const MAX_TEXT = 200;

const result = Type.Object({
  kind: Type.String({ description: 'Kind of the resource.', examples: ['https_edge'] }),
  id: Type.String({ description: 'Its id.' }),
  uri: Type.String({ description: 'Its URI.' }),
  title: Type.String({ description: 'What people call it: host names, path, name or description; otherwise the id.' }),
  matched: Type.String({ description: 'The field in which the text occurs.', examples: ['hostports'] }),
});

const query: Operation<SearchPorts> = {
  resource: 'search',
  verb: 'query',
  method: 'GET',
  path: PATH,
  summary: 'Search the configuration',
  description:
    'Finds resources by host name, path, name, description, metadata or id. Every word of the text must occur, in any case. The best matches come first. Resources that the key may not read are left out, and secrets are not searched.',
  query: Type.Object(
    {
      q: Type.Optional(
        Type.String({
          maxLength: MAX_TEXT,
          description: `The text, at most ${MAX_TEXT} characters. Without it, nothing is found.`,
        }),
      ),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: MAX_LIMIT,
          description: `Maximum number of results, 1 to ${MAX_LIMIT}. Default: ${DEFAULT_LIMIT}.`,
        }),
      ),
    },
    { additionalProperties: false },
  ),
  success: {
    status: 200,
    schema: Type.Object({
      results: Type.Array(result, { description: 'The matches, best first.' }),
      has_more: Type.Boolean({ description: 'Whether more resources match: use a longer text.' }),
    }),
    description: 'The matches.',
  },
  errors: ['ERR_POSTERN_INVALID_QUERY'],
  // Each kind of resource needs its own.
  scopes: [],
  run: async (request, { search }) => {
    const { q = '', limit } = request.query;
    const { results, hasMore } = await search.find(q, limit ? Number(limit) : DEFAULT_LIMIT, request);
    return { body: { results: results.map((each) => ({ ...each })), has_more: hasMore } };
  },
};

/** Finds configuration by text. */
export const search: LiveResource<SearchPorts> = {
  type: 'live',
  name: 'search',
  kind: 'search_result',
  idPrefix: '',
  path: PATH,
  listKey: 'results',
  title: 'a search',
  description: 'Finds resources by host name, path, name, description, metadata or id.',
  operations: [query],
};
