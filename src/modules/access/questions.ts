import Type from 'typebox';
import { rfc3339 } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { mapOf, reference, refSchema } from '../../kit/schema/annotations.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import type { Identity } from '../contract/decides.ts';
import type { LoginSession } from '../contract/login-store.ts';
import type { Asked, ModuleQuestion, QuestionPorts, QuestionResult } from '../contract/module.ts';
import { type LearnedClaims, learnable, learnedNote } from '../learned-claims.ts';
import { Grant } from '../login/sessions/grant.ts';
import { type AccessConfig, askedClaims } from './access-config.ts';
import { compileRules, type Decision, type Evaluate } from './rules.ts';

type Explainable = Omit<Decision, 'reason'> & { readonly reason: Decision['reason'] | 'account_inactive' };

interface Explanation extends Explainable {
  readonly message: string;
}

/** A decision with a sentence for the operator. */
function explained(decision: Explainable): Explanation {
  const { allowed, rule, reason } = decision;
  return { allowed, rule, reason, message: sentence(decision) };
}

function sentence({ rule, reason }: Explainable): string {
  switch (reason) {
    case 'allowed':
      return `${rule} lets this account in.`;
    case 'denied':
      return `${rule} denies this account, whatever the other rules say.`;
    case 'email_unverified':
      return 'An allow rule would match if the provider reported the email address as verified. "allow_unverified_email" in the rule accepts it unverified.';
    case 'no_rules':
      return 'There are no allow rules and no bearer entries, so nobody passes.';
    case 'account_inactive':
      return 'The service account is not active.';
    case 'no_rule':
      return 'No allow rule matches.';
  }
}

const fields = Type.Object({
  email: Type.String({ default: '', maxLength: 320, description: 'Email address of the person.' }),
  email_verified: Type.Boolean({
    default: true,
    description: 'Whether the provider reports the address as verified. Default: true.',
  }),
  claims: mapOf(Type.Unknown(), {
    default: {},
    maxProperties: 1000,
    description: 'Claims of the person, such as {"groups": ["ops"]}.',
  }),
  service_account_id: Type.String({
    default: '',
    maxLength: 64,
    description: 'A service account instead of a person.',
  }),
  guest: Type.Boolean({ default: false, description: 'A guest instead of a person.' }),
});

const SERVICE_ACCOUNT_KIND = 'service_account';

/** Whether the rules let a described requester in, and by which rule. */
export const testAccess: ModuleQuestion = {
  verb: 'test',
  path: 'test',
  method: 'POST',
  summary: 'Test the access rules of a route',
  description:
    'Returns the decision about a described person, service account or guest, and the rule that decides. With "access", a proposed configuration is tested instead of the stored one. Nothing is changed.',
  fields,
  example: { email: 'ana@example.com', claims: { groups: ['ops'] } },
  result: Type.Object({
    allowed: Type.Boolean({ description: 'Whether the rules let the requester in.' }),
    rule: Type.Union([Type.String(), Type.Null()], {
      description: 'The rule that decides, by its position; null if no rule matches.',
      examples: ['allow[2]'],
    }),
    reason: Type.String({
      description:
        'Why: "allowed", "denied" (a deny rule matches), "no_rule" (no allow rule matches), "no_rules" (there are none), "email_unverified" (a rule would match if the address were verified) or "account_inactive".',
      examples: ['allowed'],
    }),
    message: Type.String({ description: 'The same, for people.', examples: ['allow[2] lets this account in.'] }),
    paths_read_by: Type.Union([Type.String(), Type.Null()], {
      description:
        'What on the route reads the paths of requests: the edge then rejects paths such as "/a//b" there (docs/reference/routes.md). Null: nothing.',
      examples: ['rewrite rules[0] path_prefix /api/'],
    }),
  }),
  answer: async (asked, ports) => {
    const decided = await answerTest(asked, ports);
    return 'problems' in decided ? decided : { ...decided, paths_read_by: ports.pathReader(asked.place) };
  },
};

async function answerTest({ config, fields: described, place }: Asked, ports: QuestionPorts): Promise<QuestionResult> {
  const { service_account_id: accountId, guest } = described as Type.Static<typeof fields>;
  const kinds = [accountId !== '', guest, isPerson(described)].filter((isSaid) => isSaid);
  if (kinds.length > 1) {
    return {
      problems: [
        bodyProblem(
          accountId === '' ? 'guest' : 'service_account_id',
          'describes another requester than the other fields: describe a person, a service account or a guest',
        ),
      ],
    };
  }
  const account = accountId === '' ? undefined : ports.record(SERVICE_ACCOUNT_KIND, accountId);
  if (accountId !== '' && account === undefined) {
    const message = 'names a service account that does not exist: GET /service_accounts lists the existing ones';
    return { problems: [bodyProblem('service_account_id', message)] };
  }
  if (account?.['active'] === false) return { ...explained(INACTIVE) };
  const rules = config as unknown as AccessConfig;
  const identity = identityOf(described);
  if (identity.kind !== 'user') return { ...explained(compileRules(rules)(identity)) };
  const learned = await ports.learnedClaims(place, askedClaims(rules));
  const { known, note } = asLearned(identity, learned);
  const { message, ...decision } = explained(compileRules(rules)(known));
  return { ...decision, message: note === '' ? message : `${message} ${note}` };
}

/** The person as a login there would know them, and a sentence about it. */
function asLearned(identity: Identity, learned: LearnedClaims | null): { known: Identity; note: string } {
  if (learned === null) return { known: identity, note: 'The route has no login: nobody is known there as a person.' };
  const { email, claims } = identity;
  const { claims: kept, missing } = learnable({ ...claims, ...(email !== '' && { email }) }, learned);
  const known = missing.includes('email') ? { ...identity, email: '', isEmailVerified: false } : identity;
  return { known: { ...known, claims: kept }, note: learnedNote(learned, missing) };
}

const INACTIVE = { allowed: false, rule: null, reason: 'account_inactive' } as const;

function isPerson({ email, claims }: JsonObject): boolean {
  return email !== '' || Object.keys(claims as JsonObject).length > 0;
}

function identityOf(described: JsonObject): Identity {
  const {
    email,
    email_verified: isEmailVerified,
    service_account_id: accountId,
    guest,
  } = described as Type.Static<typeof fields>;
  return {
    kind: accountId === '' ? (guest ? 'guest' : 'user') : 'service_account',
    id: accountId,
    email,
    isEmailVerified,
    name: '',
    claims: described['claims'] as JsonObject,
    droppedClaims: [],
  };
}

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
  answer: answerReview,
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

async function answerReview({ config, place, query: { since } }: Asked, ports: QuestionPorts): Promise<JsonObject> {
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
