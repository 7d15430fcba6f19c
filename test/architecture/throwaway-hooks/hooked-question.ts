import Type from 'typebox';
import { reference, refSchema } from '../../../src/kit/schema/annotations.ts';
import type { ModuleQuestion } from '../../../src/modules/contract/module.ts';

const shared = {
  path: 'length',
  result: Type.Object({
    length: Type.Integer({ description: 'Characters of the mark, and more.' }),
    sessions: Type.Integer({ description: 'Logins.' }),
    since_ms: Type.Integer({ description: 'Since when.' }),
    edge: reference({ kinds: ['https_edge'] }, { ...refSchema, description: 'The edge.' }),
    is_known: Type.Boolean({ description: 'Whether there is such an edge.' }),
    path_reader: Type.Union([Type.String(), Type.Null()], { description: 'What reads paths.' }),
  }),
  alsoReads: ['app:read'],
  answer: async ({ config, place, fields, query }, ports) => {
    let sessions = 0;
    for await (const page of ports.sessions()) sessions += page.length;
    const learned = await ports.learnedClaims(place, [{ rule: 'mark', claims: ['email'] }]);
    const more = Number(fields['more'] ?? 0);
    if (more > 9) return { problems: [{ path: '/more', message: 'must be 0 to 9' }] };
    return {
      length: (config['mark'] as string).length + more,
      sessions,
      since_ms: query['since'] === undefined ? ports.nowMs : ports.time('since', query['since']),
      edge: ports.ref(place.edgeId),
      is_known: ports.record('https_edge', place.edgeId) !== undefined && learned?.knows('email') !== false,
      path_reader: ports.pathReader(place),
    };
  },
} satisfies Partial<ModuleQuestion>;

/** The length of the mark: of the stored one, or of a proposed one and more. */
export const hookedQuestions: readonly ModuleQuestion[] = [
  {
    ...shared,
    verb: 'length',
    method: 'GET',
    summary: 'Length of a mark',
    description: 'Returns it.',
    query: Type.Object({ since: Type.String({ description: 'A time.' }) }, { additionalProperties: false }),
  },
  {
    ...shared,
    verb: 'length_proposed',
    method: 'POST',
    summary: 'Length of a proposed mark',
    description: 'Returns it.',
    fields: Type.Object({ more: Type.Integer({ default: 0, description: 'Added to it.' }) }),
    needsProposal: true,
    example: { hooked: { mark: '!!' } },
  },
];
