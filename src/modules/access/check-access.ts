import { type FieldProblem, pointerTo } from '../../lib/schema/field-problem.ts';
import { isAddressClaim } from '../../lib/text/address-claims.ts';
import { emailAddress } from '../../lib/text/email-address.ts';
import type { CheckContext } from '../contract/module.ts';
import { checkIssuer } from '../login/check-issuer.ts';
import type { LoginSettings } from '../login/settings.ts';
import type { AccessConfig, AllowRule, Rule, RuleSet } from './access-config.ts';
import { domainPatternProblem } from './domain-matcher.ts';

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

/** Its digits are lost by now: it would match another identifier. */
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
