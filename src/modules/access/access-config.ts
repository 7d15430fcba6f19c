import Type from 'typebox';
import { mapOf, reference } from '../../kit/schema/annotations.ts';
import { type FieldProblem, pointerTo } from '../../kit/schema/field-problem.ts';
import { domainName, emailAddress, isAddressClaim } from '../../kit/text/email-address.ts';
import { type CheckContext, enabledField } from '../contract/module.ts';
import type { AskedClaims } from '../contract/prepare.ts';
import { checkIssuer } from '../login/issuer-problem.ts';
import type { LoginSettings } from '../login/settings.ts';
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

const CONDITIONS = ['emails', 'email_domains', 'claims', 'service_accounts', 'guests'] as const;
const PEOPLE = ['emails', 'email_domains', 'claims'] as const;

/** Rejects rules that match nobody, and values that no identity can have. */
export function checkAccess(
  { allow, deny, bearer }: AccessConfig,
  context: CheckContext<LoginSettings>,
): readonly FieldProblem[] {
  return [
    ...allow.flatMap((rule, at) => ruleProblems(rule, `/allow/${at}`)),
    ...deny.flatMap((rule, at) => ruleProblems(rule, `/deny/${at}`)),
    ...bearer.flatMap(({ issuer, claims }, at) => {
      const message = checkIssuer(issuer, context);
      const inexact = numberProblems(claims, `/bearer/${at}`);
      return message === null ? inexact : [{ path: `/bearer/${at}/issuer`, message }, ...inexact];
    }),
    ...addressClaimProblems({ allow, deny, bearer }),
  ];
}

/** Claims that would match addresses which nobody has verified. Records from elsewhere may have them too. */
export function addressClaimProblems(rules: RuleSet): readonly FieldProblem[] {
  return (['allow', 'deny', 'bearer'] as const).flatMap((list) =>
    rules[list].flatMap(({ claims = {} }, at) =>
      Object.entries(claims)
        .filter(([name, values]) => isAddressClaim(name, values))
        .map(([name]) => ({ path: pointerTo(`/${list}/${at}/claims`, name), message: ADDRESS_REMEDY[list] })),
    ),
  );
}

const UNVERIFIED = 'may have an address that the provider has not verified';
const ADDRESS_REMEDY = {
  allow: `${UNVERIFIED}: use emails or email_domains in its place`,
  deny: `${UNVERIFIED}, in any spelling: use emails or email_domains in its place`,
  bearer: `${UNVERIFIED}: use a claim that the issuer itself sets, such as sub`,
};

function ruleProblems(rule: AllowRule | Rule, path: string): readonly FieldProblem[] {
  if (CONDITIONS.every((name) => rule[name] === undefined)) {
    return [{ path, message: `has no condition: name at least one of ${CONDITIONS.join(', ')}, or remove the rule` }];
  }
  return [
    ...(rule.guests === false
      ? [{ path: pointerTo(path, 'guests'), message: 'must be true: to admit no guests, remove the field' }]
      : []),
    ...combinationProblems(rule, path),
    ...(rule.emails ?? []).flatMap((email, at) => emailProblems(email, `${path}/emails/${at}`)),
    ...(rule.email_domains ?? []).flatMap((pattern, at) => {
      const message = domainPatternProblem(pattern);
      return message === null ? [] : [{ path: `${path}/email_domains/${at}`, message }];
    }),
    ...numberProblems(rule.claims ?? {}, path),
    ...unverifiedProblems(rule, path),
  ];
}

/** The last digits of a large number are lost by now: it would match another identifier. */
function numberProblems(claims: NonNullable<Rule['claims']>, path: string): readonly FieldProblem[] {
  return Object.entries(claims).flatMap(([name, values]) =>
    values.flatMap((value, at) =>
      typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER
        ? []
        : [
            {
              path: `${pointerTo(`${path}/claims`, name)}/${at}`,
              message: 'is too large for a number: write it as a text',
            },
          ],
    ),
  );
}

/** Nobody is two of a person, a service account and a guest: such a rule would look like a protection and be none. */
function combinationProblems(rule: Rule, path: string): readonly FieldProblem[] {
  const kinds = [
    PEOPLE.filter((name) => rule[name] !== undefined),
    rule.service_accounts === undefined ? [] : ['service_accounts'],
    rule.guests === undefined ? [] : ['guests'],
  ].filter((names) => names.length > 0);
  if (kinds.length < 2) return [];
  const names = kinds.flat().join(', ');
  return [{ path, message: `can match nobody, because all of its fields must match (${names}): write one rule each` }];
}

function emailProblems(email: string, path: string): readonly FieldProblem[] {
  if (emailAddress(email)?.isPlain === true) return [];
  const message = 'must be one email address, such as "ana@example.com"; for a whole domain use email_domains';
  return [{ path, message }];
}

function unverifiedProblems(rule: AllowRule | Rule, path: string): readonly FieldProblem[] {
  if (!('allow_unverified_email' in rule)) return [];
  if (rule.emails !== undefined || rule.email_domains !== undefined) return [];
  const message = 'has an effect only beside emails or email_domains: remove it';
  return [{ path: pointerTo(path, 'allow_unverified_email'), message }];
}

/** The claims that each rule about people reads. */
export function askedClaims({ allow, deny }: Pick<RuleSet, 'allow' | 'deny'>): readonly AskedClaims[] {
  const asked = (list: 'allow' | 'deny') => (rule: Rule, at: number) => ({
    rule: `${list}[${at}]`,
    claims: claimsOf(rule),
  });
  return [...allow.map(asked('allow')), ...deny.map(asked('deny'))].filter(({ claims }) => claims.length > 0);
}

function claimsOf({ emails, email_domains: domains, claims = {} }: Rule): readonly string[] {
  return [...(emails === undefined && domains === undefined ? [] : ['email']), ...Object.keys(claims)];
}

export type DomainMatcher = (domain: string) => boolean;

const BELOW = '*.';

/** Matches domains in the form of `domainName`. */
export function domainMatcher(patterns: readonly string[]): DomainMatcher {
  const exact = new Set(patterns.filter((pattern) => !pattern.startsWith(BELOW)).map(domainName));
  const suffixes = patterns
    .filter((pattern) => pattern.startsWith(BELOW))
    .map((pattern) => domainName(pattern.slice(BELOW.length)))
    .filter((domain) => domain !== null)
    .map((domain) => `.${domain}`);
  return (domain) => exact.has(domain) || suffixes.some((suffix) => domain.endsWith(suffix));
}

/** The problem with a pattern, or null. */
function domainPatternProblem(pattern: string): string | null {
  const domain = pattern.startsWith(BELOW) ? pattern.slice(BELOW.length) : pattern;
  if (domain.includes('@')) return 'must be a domain without "@", such as "example.com"';
  if (domain.includes('*')) return 'may have "*." only at the start, such as "*.example.com"';
  return domainName(domain) === null
    ? 'must be a domain name, such as "example.com" or "*.example.com", without a dot at the end'
    : null;
}
