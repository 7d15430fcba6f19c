import Type from 'typebox';
import { rfc3339 } from '../../../kit/clock.ts';
import { refSchema } from '../../../kit/schema/annotations.ts';
import type { Operation } from '../operation.ts';
import { PROBLEMS_MAX_LIMIT, type ProblemsPort, type SharedPorts } from '../ports.ts';
import { type LiveResource, timestamp } from '../resource.ts';

export interface ProblemPorts extends Pick<SharedPorts, 'uri'> {
  /** What is wrong with the installation. */
  readonly problems: ProblemsPort;
}

const PATH = '/problems';
const DEFAULT_LIMIT = 100;

const problem = Type.Object({
  severity: Type.Enum(['problem', 'warning', 'hint'], {
    description:
      '"problem": something does not work. "warning": it will become a problem, or allows more than may be intended. "hint": worth knowing.',
  }),
  check: Type.String({ description: 'The check that found it, as "postern doctor" names it.', examples: ['routes'] }),
  message: Type.String({ description: 'What is wrong with what, in one line.' }),
  advice: Type.Union([Type.String(), Type.Null()], { description: 'What to do; null if there is nothing to say.' }),
  object: Type.Union([refSchema, Type.Null()], {
    description: 'The object that it is about; null if it is about several, or about the settings.',
  }),
});

const count = (description: string): Type.TSchema => Type.Integer({ minimum: 0, description });

const check: Operation<ProblemPorts> = {
  resource: 'problems',
  verb: 'check',
  method: 'GET',
  path: PATH,
  summary: 'Find problems',
  description:
    'Runs the checks that "postern doctor", "postern status" and the console show, over what the server knows: raised alerts, configuration, certificates, nodes, logins and settings of the server that answers. It also asks OpenID providers whether they can be reached, at most once in ten seconds. The worst come first. A result is at most a few seconds old. Checks about objects that the key may not read are left out, and named.',
  query: Type.Object(
    {
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: PROBLEMS_MAX_LIMIT,
          description: `Maximum number of problems, 1 to ${PROBLEMS_MAX_LIMIT}. Default: ${DEFAULT_LIMIT}.`,
        }),
      ),
    },
    { additionalProperties: false },
  ),
  success: {
    status: 200,
    schema: Type.Object({
      problems: Type.Array(problem, { description: 'The problems, worst first.' }),
      uri: Type.String({ description: 'URI of the list.' }),
      checked_at: timestamp('When the checks ran.'),
      counts: Type.Object(
        {
          problem: count('How many problems there are.'),
          warning: count('How many warnings there are.'),
          hint: count('How many hints there are.'),
        },
        { description: 'How many there are of each severity, including those beyond the limit.' },
      ),
      passed: Type.Array(
        Type.Object({
          check: Type.String({ description: 'The check.' }),
          count: count('How many things it found to be fine.'),
          messages: Type.Array(Type.String(), { description: 'A line about each of the first ten.' }),
        }),
        { description: 'What is fine.' },
      ),
      more: count('How many are not listed because of the limit.'),
      skipped_checks: Type.Array(Type.String(), {
        description: 'Checks that were left out because the key may not read what they are about.',
      }),
    }),
    description: 'The problems.',
  },
  errors: ['ERR_POSTERN_INVALID_QUERY'],
  // Each check needs those of the objects that it looks at.
  scopes: [],
  run: async (request, ports) => {
    const { limit } = request.query;
    const { problems, counts, passed, checkedAtMs, skipped } = await ports.problems.find(
      limit === undefined ? DEFAULT_LIMIT : Number(limit),
      request,
    );
    const all = counts.problem + counts.warning + counts.hint;
    return {
      body: {
        problems: problems.map((each) => ({ ...each, object: each.object === null ? null : { ...each.object } })),
        uri: ports.uri(PATH),
        checked_at: rfc3339(checkedAtMs),
        counts: { ...counts },
        passed: passed.map((each) => ({ ...each })),
        more: all - problems.length,
        skipped_checks: skipped,
      },
    };
  },
};

/** What is wrong, as one list for the doctor, the status and the console. */
export const problems: LiveResource<ProblemPorts> = {
  type: 'live',
  name: 'problems',
  kind: 'problem',
  idPrefix: '',
  path: PATH,
  listKey: 'problems',
  title: 'a problem',
  description: 'Something in the configuration or the state of the installation that does not work, or soon will not.',
  operations: [check],
};
