import Type from 'typebox';
import type { JsonObject } from '../../../lib/json.ts';
import { bodyProblem } from '../../../lib/schema/decode-body.ts';
import { mapOf } from '../../../lib/schema/map-of.ts';
import type { Asked, ModuleQuestion, QuestionPorts, QuestionResult } from '../../contract/module-question.ts';
import type { Identity } from '../../contract/recognizes-requesters.ts';
import { type LearnedClaims, learnable, learnedNote } from '../../learned-claims.ts';
import type { AccessConfig } from '../access-config.ts';
import { askedClaims } from '../asked-claims.ts';
import { compileRules } from '../rules.ts';
import { explained } from './explained.ts';

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
    const decided = await answer(asked, ports);
    return 'problems' in decided ? decided : { ...decided, paths_read_by: ports.pathReader(asked.place) };
  },
};

async function answer({ config, fields: described, place }: Asked, ports: QuestionPorts): Promise<QuestionResult> {
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
