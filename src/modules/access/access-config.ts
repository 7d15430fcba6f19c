import Type from 'typebox';
import { reference } from '../../lib/schema/annotations.ts';
import { mapOf } from '../../lib/schema/map-of.ts';
import { enabledField } from '../contract/module.ts';
import { ACCOUNT_KIND } from '../service-account-records.ts';

const MAX_RULES = 100;
const MAX_VALUES = 100;
const MAX_CLAIM_NAMES = 16;

const claimValues = Type.Array(Type.Union([Type.String({ maxLength: 1024 }), Type.Number(), Type.Boolean()]), {
  minItems: 1,
  maxItems: MAX_VALUES,
});

const claimsDescription = `Claims that the requester must have, each with a list of 1 to ${MAX_VALUES} accepted values: texts, numbers or booleans, compared by their JSON text. A claim that is a list matches by any element. A name is first looked up as it is written, then as a dotted path into objects, such as "realm_access.roles". Email addresses are no claims here, under any name: use "emails" and "email_domains". At most ${MAX_CLAIM_NAMES} names; all of them must match.`;

const claims = mapOf(claimValues, {
  minProperties: 1,
  maxProperties: MAX_CLAIM_NAMES,
  description: claimsDescription,
});

const texts = (maxLength: number, description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength }), {
    minItems: 1,
    maxItems: MAX_VALUES,
    description: `1 to ${MAX_VALUES} ${description}`,
  });

/** Fields are stored as they were sent: a rule reads back as its author wrote it. */
const ruleFields = {
  emails: Type.Optional(texts(320, 'email addresses, compared without regard to case.')),
  email_domains: Type.Optional(
    texts(
      255,
      'domains of email addresses, such as "example.com". "*.example.com" matches every domain below example.com, at any depth, and not example.com itself.',
    ),
  ),
  claims: Type.Optional(claims),
  service_accounts: Type.Optional(
    reference({ kinds: [ACCOUNT_KIND] }, texts(64, 'ids of service accounts, which then cannot be deleted.')),
  ),
  guests: Type.Optional(
    Type.Boolean({ description: 'Matches everybody who came in by a guest link of this route. Must be true.' }),
  ),
};

const allowRule = Type.Object(
  {
    ...ruleFields,
    allow_unverified_email: Type.Optional(
      Type.Boolean({
        description:
          'Whether "emails" and "email_domains" also match an address that the provider does not report as verified. Default: false.',
      }),
    ),
  },
  { additionalProperties: false, description: 'It matches if all of its fields match. At least one is needed.' },
);

const denyRule = Type.Object(ruleFields, {
  additionalProperties: false,
  description: 'It matches if all of its fields match, whether or not the email address is verified.',
});

const bearerEntry = Type.Object(
  {
    issuer: Type.String({
      minLength: 1,
      maxLength: 2048,
      description: 'Issuer of the tokens, the base of its discovery document: an https URL without query or fragment.',
    }),
    audiences: texts(1024, 'audiences. The token must be made for one of them.'),
    claims,
  },
  { additionalProperties: false, description: 'Admits programs with a token (JWT) of this issuer.' },
);

export const accessConfig = Type.Object({
  enabled: enabledField,
  enforce: Type.Boolean({
    default: true,
    description:
      'Whether the rules are enforced. false rehearses them: every request passes, and the log, the metrics and the events report which would have been refused. Default: true.',
  }),
  allow: Type.Array(allowRule, {
    default: [],
    maxItems: MAX_RULES,
    description: `At most ${MAX_RULES} rules, one of which must match. With no rules here and in "bearer", nobody passes.`,
  }),
  deny: Type.Array(denyRule, {
    default: [],
    maxItems: MAX_RULES,
    description: `At most ${MAX_RULES} rules, none of which may match. They take precedence over "allow" and "bearer".`,
  }),
  bearer: Type.Array(bearerEntry, {
    default: [],
    maxItems: MAX_RULES,
    description: `At most ${MAX_RULES} issuers whose tokens admit programs.`,
  }),
  forward_bearer: Type.Boolean({
    default: false,
    description:
      'Whether the token of a service account or of an issuer in "bearer" is forwarded to the upstream. Default: false.',
  }),
});

export type AccessConfig = Type.Static<typeof accessConfig>;
/** The parts of a configuration that decide. */
export type RuleSet = Pick<AccessConfig, 'allow' | 'deny' | 'bearer'>;
export type AllowRule = Type.Static<typeof allowRule>;
export type Rule = Type.Static<typeof denyRule>;
export type BearerEntry = Type.Static<typeof bearerEntry>;
