import Type from 'typebox';
import { rfc3339 } from '../../../lib/clock.ts';
import type { JsonObject } from '../../../lib/json.ts';
import { reference, refSchema } from '../../../lib/schema/annotations.ts';
import type { Asked, ModuleQuestion, QuestionPorts } from '../../contract/module-question.ts';
import type { LoginSession } from '../../login/login-store.ts';
import { Grant } from '../../login/sessions/grant.ts';
import type { AccessConfig } from '../access-config.ts';
import { compileRules, type Decision, type Evaluate } from '../rules.ts';

const DEFAULT_DAYS = 30;
const DAY_MS = 86_400_000;
/** Keeps the answer in the range of megabytes. */
const MAX_PEOPLE = 10_000;

const query = Type.Object(
  {
    since: Type.String({
      description: `Only people who were active at or after this time (RFC 3339). Default: ${DEFAULT_DAYS} days ago.`,
    }),
  },
  { additionalProperties: false },
);

const result = Type.Object({
  people: Type.Array(
    Type.Object({
      application_user: reference({ kinds: ['app_user'] }, { ...refSchema, description: 'The user.' }),
      email: Type.String({ description: 'Email address from the provider.', examples: ['ana@example.com'] }),
      last_active: Type.String({
        format: 'date-time',
        description: 'When the person was last active on the edge.',
      }),
      allowed: Type.Boolean({ description: 'Whether the rules let the person in.' }),
      rule: Type.Union([Type.String(), Type.Null()], {
        description: 'The rule that decides; null if no rule matches.',
        examples: ['allow[0]'],
      }),
      reason: Type.String({ description: 'As in the test of access rules.', examples: ['allowed'] }),
    }),
    { description: `People with a session on the edge, last active first; at most ${MAX_PEOPLE}.` },
  ),
  is_truncated: Type.Boolean({ description: `Whether there are more than ${MAX_PEOPLE} people.` }),
});

const shared = {
  path: 'review',
  query,
  result,
  alsoReads: ['app:read'],
  answer,
} as const;

/** Everybody with a session on the edge, and whether the rules let them in. */
export const reviewAccess: readonly ModuleQuestion[] = [
  {
    ...shared,
    verb: 'review',
    method: 'GET',
    summary: 'Review who passes the access rules of a route',
    description:
      'Lists everybody who has a session on the edge of the route, and whether the rules of the route let them in. Needs the scope app:read as well.',
  },
  {
    ...shared,
    verb: 'review_proposed',
    method: 'POST',
    needsProposal: true,
    example: { access: { allow: [{ email_domains: ['example.com'] }] } },
    summary: 'Review who would pass proposed access rules of a route',
    description: 'The same for the configuration in "access", which is not stored. Needs the scope app:read as well.',
  },
];

interface Person {
  readonly userId: string;
  readonly email: string;
  readonly decision: Decision;
  lastActiveMs: number;
}

async function answer({ config, place, query: { since } }: Asked, ports: QuestionPorts): Promise<JsonObject> {
  const sinceMs = since === undefined ? ports.nowMs - DEFAULT_DAYS * DAY_MS : ports.time('since', since);
  const evaluate = compileRules(config as unknown as AccessConfig);
  const people = new Map<string, Person>();
  for await (const page of ports.sessions()) {
    const here = page.filter((session) => session.edgeId === place.edgeId && session.lastActiveMs >= sinceMs);
    for (const session of here) note(people, session, evaluate);
    if (people.size > MAX_PEOPLE) break;
  }
  const inOrder = [...people.values()].sort((a, b) => b.lastActiveMs - a.lastActiveMs);
  return {
    people: inOrder.slice(0, MAX_PEOPLE).map((person) => row(person, ports)),
    is_truncated: inOrder.length > MAX_PEOPLE,
  };
}

/** One line per person. The first session is their last login, which has the newest claims. */
function note(people: Map<string, Person>, session: LoginSession, evaluate: Evaluate): void {
  const { userId, lastActiveMs } = session;
  const known = people.get(userId);
  if (known !== undefined) {
    known.lastActiveMs = Math.max(known.lastActiveMs, lastActiveMs);
    return;
  }
  const { holder } = new Grant(session);
  if (holder.kind !== 'user') return;
  people.set(userId, { userId, email: holder.email, decision: evaluate(holder), lastActiveMs });
}

function row({ userId, email, decision, lastActiveMs }: Person, ports: QuestionPorts): JsonObject {
  const { allowed, rule, reason } = decision;
  return { application_user: ports.ref(userId), email, last_active: rfc3339(lastActiveMs), allowed, rule, reason };
}
